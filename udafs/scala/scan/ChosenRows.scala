package org.apache.spark.sql.forwardlineage

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileStatus
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.metadata.BlockMetaData
import org.apache.spark.sql.catalyst.expressions.{And, Expression}

/**
 * The rows of a scan that can be among chosen ids: `dl_contains(value, dl_row_id(...))` in WHERE.
 *
 * An id by position says in which file a row is, and where in it. So files without a chosen row are not read, of the others no row
 * groups without one, and of these only the pages that hold some.
 */
final case class ChosenRows(files: PlacedFiles, ids: ChosenIds) extends Chosen {

  /** A file that is not registered is read, and refused. */
  override def isIn(file: FileStatus, conf: Configuration): Boolean =
    files.ids(Chosen.name(file.getPath)).forall { case (from, until) => ids.within(from, until).hasNext }

  override def rows(reader: ParquetFileReader, path: String, block: BlockMetaData): Option[Iterator[(Long, Long)]] = {
    val first = block.getRowIndexOffset
    if (first < 0) None
    else files.ids(path).map { case (offset, _) =>
      val start = offset + first
      ids.within(start, start + block.getRowCount).map { case (from, to) => (from - start, to - start) }
    }
  }
}

object ChosenRows {

  /** What a condition says of ids by position. */
  def in(condition: Expression): Seq[ChosenRows] = condition match {
    case And(left, right) => in(left) ++ in(right)
    case DlAmong(position: RowPosition, ids) => Seq(ChosenRows(position.files, ids))
    case _ => Nil
  }
}
