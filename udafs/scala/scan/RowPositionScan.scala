package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, CreateNamedStruct, Expression, ExprId, GetStructField, KnownNotNull, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Project}
import org.apache.spark.sql.execution.{FileSourceScanExec, FilterExec, ProjectExec, SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources.FileSourceStrategy
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat

/**
 * Plans a scan whose rows get ids by position, without the struct `_metadata`.
 *
 * Spark builds that struct of every row, path, size and time of the file included, and takes its fields apart again above the
 * filter:
 *
 *   Project(dl_row_id(_metadata.file_path, ...))            Project(dl_row_id(file_path, ...))
 *     Filter                                         ->       Filter
 *       Project(named_struct(file_path, ...))                   Project(file_path, ...)
 *
 * Read as columns, they cost nothing until they are looked at, and `RowPosition` looks at most of them once a file only. The
 * position itself is counted by `PositionedParquet`. Where the filter asks for chosen ids, only what may hold them is read:
 * `ChosenRows`.
 */
object RowPositionScan extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] =
    if (usesPosition(plan)) FileSourceStrategy(plan).map(withoutStruct).map(plan => withQuickIndex(plan, chosen(plan)))
    else Nil // Spark's own strategies

  private def usesPosition(plan: LogicalPlan): Boolean = plan match {
    case Project(list, child) => list.exists(_.exists(_.isInstanceOf[RowPosition])) || usesPosition(child)
    case Filter(condition, child) => condition.exists(_.isInstanceOf[RowPosition]) || usesPosition(child)
    case _ => false
  }

  /** The same plan if it is not of the shape above, or uses the struct as a whole. */
  private def withoutStruct(plan: SparkPlan): SparkPlan = plan match {
    case ProjectExec(list, FilterExec(condition, scan: ProjectExec)) => columns(list, Some(condition), scan).getOrElse(plan)
    case ProjectExec(list, scan: ProjectExec) => columns(list, None, scan).getOrElse(plan)
    case _ => plan
  }

  private def columns(list: Seq[NamedExpression], condition: Option[Expression], scan: ProjectExec): Option[ProjectExec] =
    struct(scan).flatMap { case (id, fields) =>
      def direct[E <: Expression](expression: E): E = expression.transform {
        case GetStructField(a: Attribute, place, _) if a.exprId == id => fields(place)
      }.asInstanceOf[E]
      val (directly, filter) = (list.map(direct), condition.map(direct(_)))
      if ((directly ++ filter).exists(_.references.exists(_.exprId == id))) None
      else {
        val read = ProjectExec(scan.projectList.filterNot(_.exprId == id) ++ fields, scan.child)
        Some(ProjectExec(directly, filter.fold[SparkPlan](read)(FilterExec(_, read))))
      }
    }

  private def chosen(plan: SparkPlan): Seq[ChosenRows] = plan match {
    case FilterExec(condition, child) => ChosenRows.in(condition) ++ chosen(child)
    case ProjectExec(_, child) => chosen(child)
    case _ => Nil
  }

  /** Node by node: for `transform` and `withNewChildren` the other format is equal, so nothing has changed. */
  private def withQuickIndex(plan: SparkPlan, chosen: Seq[ChosenRows]): SparkPlan = plan match {
    case scan: FileSourceScanExec if scan.relation.fileFormat.getClass == classOf[ParquetFileFormat] =>
      val session = scan.relation.sparkSession
      def conf = session.sessionState.newHadoopConfWithOptions(scan.relation.options)
      val files = if (chosen.isEmpty) scan.relation.location else new ChosenFiles(scan.relation.location, chosen, conf)
      scan.copy(relation = scan.relation.copy(location = files, fileFormat = new PositionedParquet(chosen))(session))
    case project: ProjectExec => project.copy(child = withQuickIndex(project.child, chosen))
    case filter: FilterExec => filter.copy(child = withQuickIndex(filter.child, chosen))
    case other => other
  }

  /** The id of the column `_metadata`, and the columns that it is made of. */
  private def struct(scan: ProjectExec): Option[(ExprId, Seq[Attribute])] = scan.projectList.collectFirst {
    case column @ Alias(KnownNotNull(made: CreateNamedStruct), _) if made.valExprs.forall(_.isInstanceOf[Attribute]) =>
      (column.exprId, made.valExprs.map(_.asInstanceOf[Attribute]))
  }
}
