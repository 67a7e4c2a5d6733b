package org.apache.spark.sql.forwardlineage

import java.lang.reflect.Field

import scala.util.Try

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.column.page.PageReadStore
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.{PartitionedFile, RecordReaderIterator}
import org.apache.spark.sql.execution.datasources.parquet.{ParquetFileFormat, ParquetRowIndexUtil, VectorizedParquetRecordReader}
import org.apache.spark.sql.execution.vectorized.WritableColumnVector
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType

/**
 * Spark's Parquet, but for how the positions of rows get into a batch, and for what is not read of rows that are not chosen.
 *
 * Spark takes each position from an iterator over boxed numbers, which for a few narrow columns is a seventh of the scan. Rows of a
 * row group are consecutive unless pages were skipped, so here they are counted. The values are the same.
 *
 * @param chosen all of which a row must meet
 * @param files in the driver, those that may hold chosen rows
 */
final class PositionedParquet(private val chosen: Seq[Chosen] = Nil, @transient private val files: Option[ChosenFiles] = None)
    extends ParquetFileFormat {

  /** Each task of a file reads its whole footer: for a few pages one task is enough. */
  override def isSplitable(session: SparkSession, options: Map[String, String], path: Path): Boolean =
    super.isSplitable(session, options, path) && !files.exists(_.isLittle(path))

  override def buildReaderWithPartitionValues(
      session: SparkSession,
      dataSchema: StructType,
      partitionSchema: StructType,
      requiredSchema: StructType,
      filters: Seq[Filter],
      options: Map[String, String],
      hadoopConf: Configuration): PartitionedFile => Iterator[InternalRow] = {
    val read = super.buildReaderWithPartitionValues(
      session, dataSchema, partitionSchema, requiredSchema, filters, options, hadoopConf)
    val column = ParquetRowIndexUtil.findRowIndexColumnIndexInSchema(requiredSchema)
    if (column < 0 && chosen.isEmpty) read
    else { file =>
      val rows = read(file)
      if (column >= 0) QuickRowIndex.install(rows, column)
      if (chosen.nonEmpty) ChosenRowGroups.install(rows, Chosen.name(file.toPath), chosen)
      rows
    }
  }

  // Without chosen rows it is equal to any Parquet format.
  override def equals(other: Any): Boolean = other match {
    case that: PositionedParquet => chosen == that.chosen
    case _ => chosen.isEmpty && super.equals(other)
  }

  override def hashCode: Int = classOf[ParquetFileFormat].hashCode
}

/** Counts the rows of a row group, or follows the list of those that are read where pages were skipped. */
final class QuickRowIndex(column: Int) extends ParquetRowIndexUtil.RowIndexGenerator(column) {
  private var next = 0L // position in the file of the next row, while all are read
  private var chosen: java.util.PrimitiveIterator.OfLong = _ // positions in the row group of those that are read

  override def initFromPageReadStore(pages: PageReadStore): Unit = {
    super.initFromPageReadStore(pages) // complains where the file tells no position
    next = pages.getRowIndexOffset.get
    chosen = pages.getRowIndexes.orElse(null)
  }

  override def populateRowIndex(positions: WritableColumnVector, rows: Int): Unit = {
    var i = 0
    if (chosen == null) {
      while (i < rows) { positions.putLong(i, next + i); i += 1 }
      next += rows
    } else {
      while (i < rows) { positions.putLong(i, next + chosen.nextLong()); i += 1 }
    }
  }
}

object QuickRowIndex {
  // Private to Spark. Where another version has them no more, Spark's own way is taken: slower, the same values.
  private val reader: Option[Field] = field(classOf[RecordReaderIterator[_]], "rowReader")
  private val generator: Option[Field] = field(classOf[VectorizedParquetRecordReader], "rowIndexGenerator")

  private def field(of: Class[_], name: String): Option[Field] = Try {
    val found = of.getDeclaredField(name)
    found.setAccessible(true)
    found
  }.toOption

  /** Before the first batch is read: rows that are read one by one, without batches, stay as they are. */
  def install(rows: Iterator[InternalRow], column: Int): Unit =
    for (readerField <- reader; generatorField <- generator) {
      rows match {
        case iterator: RecordReaderIterator[_] =>
          readerField.get(iterator) match {
            case batches: VectorizedParquetRecordReader if generatorField.get(batches) != null =>
              generatorField.set(batches, new QuickRowIndex(column))
            case _ =>
          }
        case _ =>
      }
    }
}
