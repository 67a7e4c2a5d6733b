package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.{ExistenceJoin, LeftAnti, LeftSemi}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.rules.Rule

/**
 * Computes ids by position at the scan where IN, EXISTS and their negations came between:
 *
 *   Project(dl_row_id(_metadata))                 Project(id)
 *     Join(LeftSemi)                        ->      Join(LeftSemi)
 *       Filter                                        Project(dl_row_id(_metadata) AS id)
 *         Relation                                      Filter
 *       subquery                                          Relation
 *                                                     subquery
 *
 * Spark pushes such a predicate below the projection, as it does any filter, and makes a join of it there. All rows that are
 * joined, often shuffled, would carry the struct `_metadata`, path of the file included, instead of one number.
 */
object RowPositionPushdown extends Rule[LogicalPlan] {
  import Scans.isScan

  override def apply(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case Project(list, child) if !isScan(child) && list.exists(_.exists(_.isInstanceOf[RowPosition])) =>
      val positions = list.flatMap(_.collect { case position: RowPosition => position })
      positions.foldLeft(Project(list, child))(moved)
  }

  private def moved(project: Project, position: RowPosition): Project = {
    val id = Alias(position, "__dl_id")()
    val list = project.projectList.map(_.transform {
      case same: RowPosition if same.semanticEquals(position) => id.toAttribute
    }.asInstanceOf[NamedExpression])
    struct(position)
      .filter(metadata => !uses(list, metadata))
      .flatMap(metadata => below(project.child, metadata, id))
      .fold(project)(Project(list, _))
  }

  /** The column that a position is computed from. */
  private def struct(position: RowPosition): Option[Attribute] = position.children.map {
    case GetStructField(metadata: Attribute, _, _) => Some(metadata)
    case _ => None
  }.distinct match {
    case Seq(only) => only
    case _ => None
  }

  /** The plan with the id instead of the struct; None where something else needs the struct, or changes rows. */
  private def below(plan: LogicalPlan, metadata: Attribute, id: Alias): Option[LogicalPlan] = plan match {
    case scan if isScan(scan) => if (has(scan.output, metadata)) Some(Project(without(scan.output, metadata) :+ id, scan)) else None
    case Project(list, child) if has(list, metadata) && !uses(without(list, metadata), metadata) =>
      if (isScan(child)) Some(Project(without(list, metadata) :+ id, child))
      else below(child, metadata, id).map(Project(without(list, metadata) :+ id.toAttribute, _))
    case filter @ Filter(condition, child) if !uses(Seq(condition), metadata) =>
      below(child, metadata, id).map(moved => filter.copy(child = moved))
    case join @ Join(left, _, LeftSemi | LeftAnti | ExistenceJoin(_), condition, _) if !uses(condition.toSeq, metadata) =>
      below(left, metadata, id).map(moved => join.copy(left = moved))
    case _ => None
  }

  private def has(list: Seq[NamedExpression], column: Attribute): Boolean = list.exists(_.semanticEquals(column))

  private def without(list: Seq[NamedExpression], column: Attribute): Seq[NamedExpression] =
    list.filterNot(_.semanticEquals(column))

  private def uses(expressions: Seq[Expression], column: Attribute): Boolean = expressions.exists(_.references.contains(column))
}
