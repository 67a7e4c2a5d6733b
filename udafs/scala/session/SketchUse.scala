package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.{DataFrame, Dataset, Row}
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Cast, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Project, SubqueryAlias, View}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat

import Sessions.{Dataset => ClassicDataset, SparkSession}

/**
 * A query whose accesses of some tables read only the rows in some ranges of a column.   [Niu 2022, §5]
 *
 *   R  ->  σ(dl_in_ranges(a))(R'), R' the files of R that may have such rows, and of these the row groups and pages
 *
 * It is done in Spark's analysed plan, where names have been resolved: every access is there, by whatever name, and what a query
 * returns, names included, stays as it is. Tables that are no Parquet files, and cached ones, get the predicate alone.
 */
final class SketchUse {
  import SketchUse._

  /**
   * @param query the user's own
   * @param table all rows of a table, as a name or a path of it gives them
   * @param column of it
   * @param bounds packed
   * @param fragments packed
   * @return the query; null where it does not read the table
   */
  def apply(query: Dataset[Row], table: Dataset[Row], column: String, bounds: Array[Byte], fragments: Array[Byte]): DataFrame = {
    val ranges = new RangeSet(bounds, fragments)
    val frame = classic(query)
    val session = frame.sparkSession
    val functions = new Readings().look(frame.queryExecution.analyzed).functions.filter(_.size == 1).flatten
    if (functions.nonEmpty) LineageErrors.refuse(s"It calls a function of the user's, ${functions.head}, of which nothing is known.")
    val (wanted, cut) = bare(session, classic(table).queryExecution.analyzed, column)
    val place = wanted.output.indexWhere(_.exprId == cut.exprId)
    val mark = System.nanoTime
    val plan = frame.queryExecution.analyzed.transformDownWithSubqueries {
      case access if !access.getTagValue(Done).contains(mark) && same(access, wanted) =>
        val read = reading(session, access, access.output(place), ranges)
        read.setTagValue(Done, mark)
        Filter(DlInRanges(access.output(place), ranges), read)
    }
    if (plan eq frame.queryExecution.analyzed) null else ClassicDataset.ofRows(session, plan)
  }

  /** What of a table's files is read for some ranges: for each what there is, and what is left; nothing is known of other sources. */
  def skipped(table: Dataset[Row], column: String, bounds: Array[Byte], fragments: Array[Byte]): Array[Long] = {
    val (frame, ranges) = (classic(table), new RangeSet(bounds, fragments))
    val (plan, cut) = bare(frame.sparkSession, frame.queryExecution.analyzed, column)
    files(frame.sparkSession, plan, cut, ranges).fold(Array.empty[Long]) {
      case (relation, chosen, conf) =>
        val read = relation.location.listFiles(Nil, Nil).flatMap(_.files).map { file =>
          (file.getLen, FileBounds.of(file.fileStatus, chosen.column, chosen.typed, conf))
        }
        if (read.exists(_._2.isEmpty)) Array.empty
        else {
          val groups = read.map(_._2.get)
          val parts = groups.map(_.map(group => (group, group.read(ranges))))
          Array(
            read.size.toLong, parts.count(_.exists(_._2.rows > 0)).toLong,
            groups.map(_.size).sum.toLong, parts.flatten.count(_._2.rows > 0).toLong,
            groups.flatten.map(_.rows).sum, parts.flatten.map(_._2.rows).sum,
            groups.flatten.map(_.bytes).sum, parts.flatten.map(_._2.bytes).sum)
        }
    }
  }
}

private object SketchUse {
  private val Done = TreeNodeTag[Long]("forward_lineage.sketch")

  private def classic(frame: Dataset[Row]): ClassicDataset[Row] = frame.asInstanceOf[ClassicDataset[Row]]

  /** Where a table's rows come from, behind names and renamings, and the column there. */
  private def bare(session: SparkSession, table: LogicalPlan, column: String): (LogicalPlan, Attribute) = {
    val resolver = session.sessionState.conf.resolver
    val found = table.output.filter(each => resolver(each.name, column))
    if (found.size != 1) LineageErrors.refuse(s"There is not one column $column.")
    bare(table, found.head)
  }

  @scala.annotation.tailrec
  private def bare(plan: LogicalPlan, column: Attribute): (LogicalPlan, Attribute) = plan match {
    case SubqueryAlias(_, child) => bare(child, column)
    case view: View => bare(view.child, column)
    case Project(list, child) if list.forall(source(_).isDefined) =>
      bare(child, list.find(_.exprId == column.exprId).flatMap(source).get)
    case other => (other, column)
  }

  /** The column that an item of a select list is, under whatever name. */
  private def source(item: NamedExpression): Option[Attribute] = item match {
    case column: Attribute => Some(column)
    case Alias(column: Attribute, _) => Some(column)
    case Alias(Cast(column: Attribute, typed, _, _), _) if column.dataType == typed => Some(column)
    case _ => None
  }

  private def same(access: LogicalPlan, wanted: LogicalPlan): Boolean = (access, wanted) match {
    case (a: LogicalRelation, b: LogicalRelation) =>
      a.isStreaming == b.isStreaming && a.relation == b.relation && a.output.map(_.name) == b.output.map(_.name)
    case (a, b) => a.getClass == b.getClass && a.output.size == b.output.size && a.sameResult(b)
  }

  /** The same rows, but for those that files say are not in the ranges. */
  private def reading(session: SparkSession, access: LogicalPlan, column: Attribute, ranges: RangeSet): LogicalPlan =
    (access, files(session, access, column, ranges)) match {
      case (relation: LogicalRelation, Some((files, chosen, conf)))
          if !Planning.isCached(session, relation) =>
        val left = new ChosenFiles(files.location, Seq(chosen), conf)
        val read = files.copy(location = left, fileFormat = new PositionedParquet(Seq(chosen), Some(left)))(files.sparkSession)
        relation.copy(relation = read, catalogTable = relation.catalogTable.map(_.copy(stats = None)))
      case _ => access.clone()
    }

  private def files(session: SparkSession, access: LogicalPlan, column: Attribute, ranges: RangeSet) = access match {
    case RelationOf(files: HadoopFsRelation, _)
        if !access.isStreaming && files.fileFormat.getClass == classOf[ParquetFileFormat] && files.dataSchema.exists(_.name == column.name) &&
          !files.partitionSchema.exists(_.name == column.name) && !byFieldId(session, files) =>
      val conf = session.sessionState.newHadoopConfWithOptions(files.options)
      Some((files, ChosenRanges(column.name, column.dataType, ranges), conf))
    case _ => None
  }

  /** Columns of files may then have other names. */
  private def byFieldId(session: SparkSession, files: HadoopFsRelation): Boolean =
    session.sessionState.conf.parquetFieldIdReadEnabled
}
