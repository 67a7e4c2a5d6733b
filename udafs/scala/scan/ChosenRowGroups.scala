package org.apache.spark.sql.forwardlineage

import java.lang.reflect.{Constructor, Field, InvocationHandler, Method, Proxy}
import java.util.{ArrayList => JArrayList, List => JList}

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.parquet.ParquetReadOptions
import org.apache.parquet.column.page.PageReadStore
import org.apache.parquet.filter2.compat.FilterCompat
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.metadata.BlockMetaData
import org.apache.parquet.internal.filter2.columnindex.RowRanges
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.RecordReaderIterator
import org.apache.spark.sql.execution.datasources.parquet.{SpecificParquetRecordReaderBase, VectorizedParquetRecordReader}

/** Lets Spark's reader of batches ask for row groups here: of each the chosen rows, or more where pages cannot be skipped. */
private final class ChosenRowGroups(reader: ParquetFileReader, path: String, chosen: Seq[Chosen]) {
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
    open match {
      case pages: AutoCloseable => pages.close()
      case _ => // none, or Parquet 1.13's, which keep nothing open
    }
    open = null
  }

  /** What is left of a row group when Spark's own filters and what is chosen have been asked. */
  private def ranges(group: Int, block: BlockMetaData): RowRanges = {
    val known = chosen.flatMap(_.rows(reader, path, block))
    if (known.isEmpty) ChosenRowGroups.filtered(reader, group, block)
    else if (!ChosenRowGroups.canSkip(block)) {
      if (known.forall(_.hasNext)) RowRanges.createSingle(block.getRowCount) else RowRanges.EMPTY
    } else known.foldLeft(ChosenRowGroups.filtered(reader, group, block)) { (left, runs) =>
      RowRanges.intersection(left, ChosenRowGroups.ranges(ChosenRowGroups.merged(runs), block))
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
  def install(rows: Iterator[InternalRow], path: String, chosen: Seq[Chosen]): Unit =
    for {
      of <- recordReader
      groups <- rowGroupReader
      count <- totalRowCount
      if range.isDefined && rowRanges.isDefined && rows.isInstanceOf[RecordReaderIterator[_]]
      batches <- Option(of.get(rows)).collect { case reader: VectorizedParquetRecordReader => reader }
      before <- Option(groups.get(batches))
      inner <- field(before.getClass, "reader")
      file <- Option(inner.get(before)).collect { case reader: ParquetFileReader => reader }
    } {
      val left = new ChosenRowGroups(file, path, chosen)
      groups.set(batches, asReader(groups.getType, left))
      count.setLong(batches, left.rowCount)
    }

  /** Pages can be skipped where the file says in which rows they begin; row groups always. */
  private def canSkip(block: BlockMetaData): Boolean =
    block.getColumns.asScala.forall(_.getOffsetIndexReference != null)

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
