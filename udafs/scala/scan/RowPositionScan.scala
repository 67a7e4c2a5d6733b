package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, CreateNamedStruct, Expression, ExprId, GetStructField, KnownNotNull, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
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
 * position itself is counted by `PositionedParquet`.
 */
object RowPositionScan extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case Project(list, _) if list.exists(_.exists(_.isInstanceOf[RowPosition])) =>
      FileSourceStrategy(plan).map(withoutStruct).map(withQuickIndex)
    case _ => Nil // Spark's own strategies
  }

  /** The same plan if it is not of the shape above, or uses the struct as a whole. */
  private def withoutStruct(plan: SparkPlan): SparkPlan = plan match {
    case ProjectExec(list, filter @ FilterExec(condition, scan: ProjectExec)) =>
      columns(list, Seq(condition), scan, fields => filter.copy(child = fields)).getOrElse(plan)
    case ProjectExec(list, scan: ProjectExec) => columns(list, Nil, scan, identity).getOrElse(plan)
    case _ => plan
  }

  private def columns(
      list: Seq[NamedExpression],
      conditions: Seq[Expression],
      scan: ProjectExec,
      filtered: ProjectExec => SparkPlan): Option[ProjectExec] =
    struct(scan).flatMap { case (id, fields) =>
      val direct = list.map(_.transform {
        case GetStructField(a: Attribute, place, _) if a.exprId == id => fields(place)
      }.asInstanceOf[NamedExpression])
      val others = scan.projectList.filterNot(_.exprId == id)
      Option.when(!(direct ++ conditions).exists(_.references.exists(_.exprId == id))) {
        ProjectExec(direct, filtered(ProjectExec(others ++ fields, scan.child)))
      }
    }

  /** Node by node: for `transform` and `withNewChildren` the other format is equal, so nothing has changed. */
  private def withQuickIndex(plan: SparkPlan): SparkPlan = plan match {
    case scan: FileSourceScanExec if scan.relation.fileFormat.getClass == classOf[ParquetFileFormat] =>
      scan.copy(relation = scan.relation.copy(fileFormat = new PositionedParquet)(scan.relation.sparkSession))
    case project: ProjectExec => project.copy(child = withQuickIndex(project.child))
    case filter: FilterExec => filter.copy(child = withQuickIndex(filter.child))
    case other => other
  }

  /** The id of the column `_metadata`, and the columns that it is made of. */
  private def struct(scan: ProjectExec): Option[(ExprId, Seq[Attribute])] = scan.projectList.collectFirst {
    case column @ Alias(KnownNotNull(made: CreateNamedStruct), _) if made.valExprs.forall(_.isInstanceOf[Attribute]) =>
      (column.exprId, made.valExprs.map(_.asInstanceOf[Attribute]))
  }
}
