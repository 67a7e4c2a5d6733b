package org.apache.spark.sql.forwardlineage

import java.math.BigInteger
import java.nio.{ByteBuffer, ByteOrder}

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.parquet.column.statistics.Statistics
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.metadata.{BlockMetaData, ColumnChunkMetaData}
import org.apache.parquet.schema.{ColumnOrder, LogicalTypeAnnotation, PrimitiveType}
import org.apache.parquet.schema.LogicalTypeAnnotation._
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * What a file says of the values of a column in some consecutive rows of a row group.
 *
 * @param least bound of the values, as a key; null: nothing is known of them, unless `empty`
 * @param nulls whether there may be NULLs
 * @param empty whether there are NULLs only
 */
final case class PageBounds(first: Long, last: Long, least: Any, most: Any, nulls: Boolean, empty: Boolean) {
  def mayHold(ranges: RangeSet): Boolean =
    (nulls && ranges.nulls) || (!empty && (least == null || ranges.overlaps(least, most)))
}

/** The pages of a column, as its indexes describe them; the row group as one, where it has none. Bounds may be cut short. */
object ColumnPages {

  /** Nothing where it is not known which column of the file is meant. */
  def chunk(block: BlockMetaData, column: String): Option[ColumnChunkMetaData] = {
    val found = block.getColumns.asScala.filter(_.getPath.toDotString.equalsIgnoreCase(column))
    found.headOption.filter(only => found.size == 1 && only.getPath.size == 1)
  }

  def of(reader: ParquetFileReader, block: BlockMetaData, chunk: ColumnChunkMetaData, typed: DataType): Seq[PageBounds] = {
    val whole = ofRowGroup(block, chunk, typed)
    val decode = StoredKeys.of(chunk.getPrimitiveType, typed)
    val pages = for {
      keys <- decode
      if chunk.getColumnIndexReference != null && chunk.getOffsetIndexReference != null
      index <- Option(reader.readColumnIndex(chunk))
      offsets <- Option(reader.readOffsetIndex(chunk))
      if index.getNullPages.size == offsets.getPageCount
    } yield {
      val (empty, counts) = (index.getNullPages, index.getNullCounts)
      (0 until offsets.getPageCount).map { page =>
        val isEmpty = empty.get(page)
        val (least, most) = if (isEmpty) (null, null) else keys.bounds(index.getMinValues.get(page), index.getMaxValues.get(page))
        val nulls = counts == null || counts.isEmpty || counts.get(page) != 0
        PageBounds(
          offsets.getFirstRowIndex(page), offsets.getLastRowIndex(page, block.getRowCount), least, most, nulls, isEmpty)
      }
    }
    pages.getOrElse(Seq(whole))
  }

  def ofRowGroup(block: BlockMetaData, chunk: ColumnChunkMetaData, typed: DataType): PageBounds = {
    val said = Option[Statistics[_]](chunk.getStatistics).filterNot(_.isEmpty)
    val (least, most) = (for {
      known <- said
      if known.hasNonNullValue
      keys <- StoredKeys.of(chunk.getPrimitiveType, typed)
    } yield keys.bounds(ByteBuffer.wrap(known.getMinBytes), ByteBuffer.wrap(known.getMaxBytes))).getOrElse((null, null))
    val nulls = said.filter(_.isNumNullsSet).map(_.getNumNulls)
    val empty = nulls.contains(chunk.getValueCount)
    PageBounds(0, block.getRowCount - 1, least, most, nulls.forall(_ > 0), empty)
  }
}

/** Turns what statistics say into keys of a Spark type, or says that it means nothing sure. */
final class StoredKeys(key: ByteBuffer => Any, isFloating: Boolean, least: Long) {

  /** (null, null) where nothing is sure. */
  def bounds(min: ByteBuffer, max: ByteBuffer): (Any, Any) = {
    val found = Try((key(min.duplicate()), key(max.duplicate()))).toOption
    found match {
      case Some((from: Long, to: Long)) if isFloating =>
        // Whether there are NaNs beside them is not said.
        if (from >= StoredKeys.NaN || to >= StoredKeys.NaN || from > to) (null, null) else (from, StoredKeys.NaN)
      case Some((from: Long, to: Long)) => if (from < least || from > to) (null, null) else (from, to)
      case Some((from: UTF8String, to: UTF8String)) if from.compareTo(to) <= 0 => (from, to)
      case Some((from: BigInteger, to: BigInteger)) if from.compareTo(to) <= 0 => (from, to)
      case _ => (null, null)
    }
  }
}

object StoredKeys {
  val NaN: Long = Keys.ofDouble(Double.NaN)
  // Before these a file may count days and microseconds in the old calendar, which Spark converts.
  private val FirstDay = -141427L // 1582-10-15
  private val FirstMicrosecond = -2208988800000000L // 1900-01-01

  def of(stored: PrimitiveType, typed: DataType): Option[StoredKeys] =
    if (stored.columnOrder != ColumnOrder.typeDefined) None else of(stored, stored.getLogicalTypeAnnotation, typed)

  private def of(stored: PrimitiveType, said: LogicalTypeAnnotation, typed: DataType): Option[StoredKeys] = {
    val name = stored.getPrimitiveTypeName
    (typed, said) match {
      case (ByteType | ShortType | IntegerType | LongType, signed) if isSigned(signed) => whole(name)
      case (DateType, _: DateLogicalTypeAnnotation) => whole(name, FirstDay)
      case (TimestampType | TimestampNTZType, time: TimestampLogicalTypeAnnotation) if name == INT64 =>
        time.getUnit match {
          case TimeUnit.MICROS => whole(name, FirstMicrosecond)
          case TimeUnit.MILLIS => whole(name, FirstMicrosecond, times = 1000L)
          case _ => None
        }
      case (wanted: DecimalType, there: DecimalLogicalTypeAnnotation)
          if there.getScale == wanted.scale && there.getPrecision <= wanted.precision => decimal(name, wanted)
      case (FloatType | DoubleType, null) if name == FLOAT =>
        Some(new StoredKeys(bytes => Keys.ofDouble(little(bytes).getFloat.toDouble), true, Long.MinValue))
      case (DoubleType, null) if name == DOUBLE =>
        Some(new StoredKeys(bytes => Keys.ofDouble(little(bytes).getDouble), true, Long.MinValue))
      case (StringType, _: StringLogicalTypeAnnotation) =>
        Some(new StoredKeys(bytes => UTF8String.fromBytes(all(bytes)), false, Long.MinValue))
      case _ => None
    }
  }

  private def isSigned(said: LogicalTypeAnnotation): Boolean = said match {
    case null => true
    case known: IntLogicalTypeAnnotation => known.isSigned
    case _ => false
  }

  private def whole(
      name: PrimitiveType.PrimitiveTypeName, least: Long = Long.MinValue, times: Long = 1L): Option[StoredKeys] = name match {
    case INT32 => Some(new StoredKeys(bytes => little(bytes).getInt.toLong, false, least))
    case INT64 => Some(new StoredKeys(bytes => Math.multiplyExact(little(bytes).getLong, times), false, least))
    case _ => None
  }

  private def decimal(name: PrimitiveType.PrimitiveTypeName, wanted: DecimalType): Option[StoredKeys] = {
    val read: Option[ByteBuffer => BigInteger] = name match {
      case INT32 => Some(bytes => BigInteger.valueOf(little(bytes).getInt.toLong))
      case INT64 => Some(bytes => BigInteger.valueOf(little(bytes).getLong))
      case BINARY | FIXED_LEN_BYTE_ARRAY => Some(bytes => new BigInteger(all(bytes)))
      case _ => None
    }
    read.map { number =>
      if (Keys.isLongDecimal(wanted)) new StoredKeys(number, false, Long.MinValue)
      else new StoredKeys(bytes => number(bytes).longValueExact, false, Long.MinValue)
    }
  }

  private def little(bytes: ByteBuffer): ByteBuffer = bytes.order(ByteOrder.LITTLE_ENDIAN)

  private def all(bytes: ByteBuffer): Array[Byte] = {
    val found = new Array[Byte](bytes.remaining)
    bytes.get(found)
    found
  }
}
