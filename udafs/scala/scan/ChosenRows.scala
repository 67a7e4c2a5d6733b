package org.apache.spark.sql.forwardlineage

import java.lang.reflect.{Constructor, Field, InvocationHandler, Method, Proxy}
import java.util.{ArrayList => JArrayList, List => JList}

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.hadoop.fs.Path
import org.apache.parquet.ParquetReadOptions
import org.apache.parquet.column.page.PageReadStore
import org.apache.parquet.filter2.compat.FilterCompat
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.metadata.BlockMetaData
import org.apache.parquet.internal.filter2.columnindex.RowRanges
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{And, Expression}
import org.apache.spark.sql.execution.datasources.{FileIndex, PartitionDirectory, RecordReaderIterator}
import org.apache.spark.sql.execution.datasources.parquet.{SpecificParquetRecordReaderBase, VectorizedParquetRecordReader}
import org.apache.spark.sql.types.StructType

/**
 * The rows of a scan that can be among chosen ids: `dl_contains(value, dl_row_id(...))` in WHERE.
 *
 * An id by position says in which file a row is, and where in it. So files without a chosen row are not read, of the others no row
 * groups without one, and of these only the pages that hold some. Whatever is read is tested by the predicate, which stays.
 */
final case class ChosenRows(files: PlacedFiles, ids: ChosenIds) {

  /** Whether a file may hold chosen rows: one that is not registered is read, and refused. */
  def isIn(path: String): Boolean = files.ids(path).forall { case (from, until) => ids.within(from, until).hasNext }

  /** The chosen positions among [from, until) of a file, as runs (first, last); None: nothing is known of the file. */
  def positions(path: String, from: Long, until: Long): Option[Iterator[(Long, Long)]] =
    files.ids(path).map { case (offset, _) =>
      ids.within(offset + from, offset + until).map { case (first, last) => (first - offset, last - offset) }
    }
}

object ChosenRows {

  /** A file as `_metadata.file_path` calls it. */
  def name(path: Path): String = new Path(path.toString).toUri.toString

  /** What a condition says of ids by position. */
  def in(condition: Expression): Seq[ChosenRows] = condition match {
    case And(left, right) => in(left) ++ in(right)
    case DlAmong(position: RowPosition, ids) => Seq(ChosenRows(position.files, ids))
    case _ => Nil
  }
}

/** The files of a table that hold chosen rows. */
final class ChosenFiles(private val all: FileIndex, private val chosen: Seq[ChosenRows]) extends FileIndex {
  override def rootPaths: Seq[Path] = all.rootPaths
  override def inputFiles: Array[String] = all.inputFiles
  override def refresh(): Unit = all.refresh()
  override def sizeInBytes: Long = all.sizeInBytes
  override def partitionSchema: StructType = all.partitionSchema
  override def metadataOpsTimeNs: Option[Long] = all.metadataOpsTimeNs

  override def listFiles(partitionFilters: Seq[Expression], dataFilters: Seq[Expression]): Seq[PartitionDirectory] =
    all
      .listFiles(partitionFilters, dataFilters)
      .map(folder => folder.copy(files = folder.files.filter(file => isWanted(file.getPath))))
      .filter(_.files.nonEmpty)

  private def isWanted(path: Path): Boolean = {
    val name = ChosenRows.name(path)
    chosen.forall(_.isIn(name))
  }

  override def equals(other: Any): Boolean = other match {
    case that: ChosenFiles => all == that.all && chosen == that.chosen
    case _ => false
  }

  override def hashCode: Int = (all, chosen).hashCode
}

/** Lets Spark's reader of batches ask for row groups here: of each the chosen rows, or more where pages cannot be skipped. */
private final class ChosenRowGroups(reader: ParquetFileReader, path: String, chosen: Seq[ChosenRows]) {
  private val groups = reader.getRowGroups
  private val wanted: IndexedSeq[RowRanges] = groups.asScala.indices.map(group => ranges(group, groups.get(group)))
  private var next = 0
  private var open: PageReadStore = _

  def rowCount: Long = wanted.map(_.rowCount).sum

  def readNext(): PageReadStore = {
    closePages()
    while (next < wanted.size && wanted(next).rowCount == 0) next += 1
    if (next < wanted.size) {
      open = reader.readFilteredRowGroup(next, wanted(next))
      next += 1
    }
    open
  }

  def close(): Unit = {
    closePages()
    reader.close()
  }

  private def closePages(): Unit = {
    if (open != null) open.close()
    open = null
  }

  /** What is left of a row group when Spark's own filters and the chosen ids have been asked. */
  private def ranges(group: Int, block: BlockMetaData): RowRanges = {
    val first = block.getRowIndexOffset
    val known = chosen.flatMap(_.positions(path, first, first + block.getRowCount))
    known.foldLeft(ChosenRowGroups.filtered(reader, group, block)) { (left, positions) =>
      val asked = ChosenRowGroups.merged(positions.map { case (from, to) => (from - first, to - first) })
      RowRanges.intersection(left, ChosenRowGroups.ranges(asked, block))
    }
  }
}

object ChosenRowGroups {
  /** Rows that are decoded to no end between two that are wanted: each range costs about as much as so many rows. */
  private val Gap = 32L

  // Private to Spark and to Parquet. Where another version has them no more, all rows are read, and the predicate chooses.
  private val recordReader = field(classOf[RecordReaderIterator[_]], "rowReader")
  private val rowGroupReader = field(classOf[SpecificParquetRecordReaderBase[_]], "reader")
  private val totalRowCount = field(classOf[SpecificParquetRecordReaderBase[_]], "totalRowCount")
  private val options = field(classOf[ParquetFileReader], "options")
  private val asked: Option[Method] = Try {
    val found = classOf[ParquetFileReader].getDeclaredMethod("getRowRanges", classOf[Int])
    found.setAccessible(true)
    found
  }.toOption
  private val range: Option[Constructor[_]] = Try {
    val found = Class.forName(classOf[RowRanges].getName + "$Range").getDeclaredConstructor(classOf[Long], classOf[Long])
    found.setAccessible(true)
    found
  }.toOption
  private val rowRanges: Option[Constructor[RowRanges]] = Try {
    val found = classOf[RowRanges].getDeclaredConstructor(classOf[JList[_]])
    found.setAccessible(true)
    found
  }.toOption

  private def field(of: Class[_], name: String): Option[Field] = Try {
    val found = of.getDeclaredField(name)
    found.setAccessible(true)
    found
  }.toOption

  /** Before the first batch is read: rows that are read one by one, without batches, stay as they are. */
  def install(rows: Iterator[InternalRow], path: String, chosen: Seq[ChosenRows]): Unit =
    for {
      of <- recordReader
      groups <- rowGroupReader
      count <- totalRowCount
      if range.isDefined && rowRanges.isDefined && rows.isInstanceOf[RecordReaderIterator[_]]
      batches <- Option(of.get(rows)).collect { case reader: VectorizedParquetRecordReader => reader }
      before <- Option(groups.get(batches))
      inner <- field(before.getClass, "reader")
      file <- Option(inner.get(before)).collect { case reader: ParquetFileReader => reader }
      if file.getRowGroups.asScala.forall(canSkip)
    } {
      val left = new ChosenRowGroups(file, path, chosen)
      groups.set(batches, asReader(groups.getType, left))
      count.setLong(batches, left.rowCount)
    }

  /** Pages can be skipped where the file says in which rows they begin. */
  private def canSkip(block: BlockMetaData): Boolean =
    block.getRowIndexOffset >= 0 && block.getColumns.asScala.forall(_.getOffsetIndexReference != null)

  /** The interface that Spark reads row groups through is its own: a class of another loader cannot say that it extends it. */
  private def asReader(interface: Class[_], groups: ChosenRowGroups): AnyRef =
    Proxy.newProxyInstance(interface.getClassLoader, Array(interface), new InvocationHandler {
      override def invoke(proxy: AnyRef, method: Method, arguments: Array[AnyRef]): AnyRef = method.getName match {
        case "readNextRowGroup" => groups.readNext()
        case "close" => groups.close(); null
        case "hashCode" => Int.box(System.identityHashCode(proxy))
        case "equals" => Boolean.box(proxy eq arguments(0))
        case _ => "chosen row groups"
      }
    })

  /** The rows of a row group that Spark's filters leave. */
  private def filtered(reader: ParquetFileReader, group: Int, block: BlockMetaData): RowRanges = {
    val left = for {
      ranges <- asked
      of <- options
      said <- Option(of.get(reader)).collect { case said: ParquetReadOptions => said }
      if said.useColumnIndexFilter && FilterCompat.isFilteringRequired(said.getRecordFilter)
    } yield ranges.invoke(reader, Int.box(group)).asInstanceOf[RowRanges]
    left.getOrElse(RowRanges.createSingle(block.getRowCount))
  }

  private def merged(runs: Iterator[(Long, Long)]): Seq[(Long, Long)] = {
    val found = IndexedSeq.newBuilder[(Long, Long)]
    var open: (Long, Long) = null
    for (run <- runs) {
      if (open != null && run._1 - open._2 <= Gap) open = (open._1, run._2)
      else {
        if (open != null) found += open
        open = run
      }
    }
    if (open != null) found += open
    found.result()
  }

  private def ranges(runs: Seq[(Long, Long)], block: BlockMetaData): RowRanges =
    if (runs.isEmpty) RowRanges.EMPTY
    else if (runs.head == ((0L, block.getRowCount - 1))) RowRanges.createSingle(block.getRowCount)
    else {
      val listed = new JArrayList[Any](runs.size)
      for ((from, to) <- runs) listed.add(range.get.newInstance(Long.box(from), Long.box(to)))
      rowRanges.get.newInstance(listed)
    }
}
