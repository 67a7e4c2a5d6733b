package org.apache.spark.sql.forwardlineage

import java.util.{Collections, LinkedHashMap => JLinkedHashMap, Map => JMap}

import scala.jdk.CollectionConverters._
import scala.util.Try
import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.metadata.BlockMetaData
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.spark.sql.types.DataType

/**
 * The rows of a scan whose column is in some ranges, as far as files say where they are: in which files, row groups and pages.
 *
 * [Niu 2022, §5.1: zone maps]
 *
 * @param column at the top of the table, compared without regard to case
 */
final case class ChosenRanges(column: String, typed: DataType, ranges: RangeSet) extends Chosen {
  override def isIn(file: FileStatus, conf: Configuration): Boolean =
    FileBounds.of(file, column, typed, conf).forall(_.exists(_.pages.exists(_.mayHold(ranges))))

  override def rows(reader: ParquetFileReader, path: String, block: BlockMetaData): Option[Iterator[(Long, Long)]] =
    ColumnPages.chunk(block, column).map { chunk =>
      if (!ColumnPages.ofRowGroup(block, chunk, typed).mayHold(ranges)) Iterator.empty
      else ColumnPages.of(reader, block, chunk, typed).iterator.filter(_.mayHold(ranges)).map(page => (page.first, page.last))
    }

  override def knowsBytes: Boolean = true

  override def bytes(file: FileStatus, conf: Configuration): Long =
    FileBounds.of(file, column, typed, conf).fold(file.getLen)(_.map(_.read(ranges).bytes).sum)
}

/** How much of a row group is read. */
final case class ReadPart(rows: Long, bytes: Long)

/** A row group of a file: its size, and the bounds of a column in its pages. */
final case class GroupBounds(rows: Long, bytes: Long, pages: Seq[PageBounds]) {
  def read(ranges: RangeSet): ReadPart = {
    val found = pages.filter(_.mayHold(ranges)).map(page => page.last - page.first + 1).sum
    ReadPart(found, if (rows == 0) 0 else math.ceil(bytes.toDouble * found / rows).toLong)
  }
}

/** What files say of columns, as the driver has read it; a file that has changed is another one. */
object FileBounds {
  private val Most = 1 << 14 // files and columns

  private final case class Key(path: String, size: Long, modified: Long, column: String, typed: DataType)

  private val known: JMap[Key, Option[Seq[GroupBounds]]] =
    Collections.synchronizedMap(new JLinkedHashMap[Key, Option[Seq[GroupBounds]]](64, 0.75f, true) {
      override def removeEldestEntry(eldest: JMap.Entry[Key, Option[Seq[GroupBounds]]]): Boolean = size > Most
    })

  /** Its row groups; None where nothing is known of the column. */
  def of(file: FileStatus, column: String, typed: DataType, conf: Configuration): Option[Seq[GroupBounds]] = {
    val key = Key(Chosen.name(file.getPath), file.getLen, file.getModificationTime, column.toLowerCase, typed)
    val before = known.get(key)
    if (before != null) before
    else {
      val found = Try(read(file, column, typed, conf)).toOption.flatten // what is wrong with a file its reader says
      known.put(key, found)
      found
    }
  }

  private def read(file: FileStatus, column: String, typed: DataType, conf: Configuration): Option[Seq[GroupBounds]] =
    Using.resource(ParquetFileReader.open(HadoopInputFile.fromStatus(file, conf))) { reader =>
      val groups = reader.getRowGroups.asScala.toSeq.map { block =>
        ColumnPages.chunk(block, column).map { chunk =>
          GroupBounds(block.getRowCount, block.getCompressedSize, ColumnPages.of(reader, block, chunk, typed))
        }
      }
      if (groups.forall(_.isDefined)) Some(groups.flatten) else None
    }
}
