package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, AttributeMap, AttributeSet, Expression, NamedExpression, ScalarSubquery}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Filter, LogicalPlan, Project, Sort}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.types.{BinaryType, DataType, StructType}

/**
 * Rows get the lineage of a subquery, what is looked up in one, and the union of a set with a few ids after they are sorted.
 *
 *   Sort(o, Project(…, f(x, (subquery)) AS DL))  →  Project(…, f(x, (subquery)) AS DL)(Sort(o, Project(…, x)))
 *
 * An exchange by ranges makes its rows twice, once for a sample, and carries all that they have: the lineage of a subquery, which
 * is every row's, once for each. Of a LIMIT above it no rows get any but those that are returned.
 */
object LateLineage extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case sort: Sort if sort.global =>
      apart(sort.child, AttributeSet(sort.order.flatMap(_.references))).fold[LogicalPlan](sort) { case (made, rows) =>
        Project(made, sort.copy(child = rows))
      }
  }

  /** The columns of a plan, made of those of another one; `read` are made in the other. */
  private def apart(plan: LogicalPlan, read: AttributeSet): Option[(Seq[NamedExpression], LogicalPlan)] = plan match {
    case Filter(condition, child) =>
      apart(child, read ++ condition.references).map { case (made, rows) => (made, Filter(condition, rows)) }
    case Project(columns, child) =>
      val own = columns.filter(column => isLate(column) && !read.contains(column.toAttribute))
      if (own.nonEmpty) Some(split(columns, own, child))
      else apart(child, read ++ AttributeSet(columns.filterNot(_.isInstanceOf[Attribute]).flatMap(_.references)))
        .map { case (made, rows) => split(columns, made.filter(isLate), rows) }
    case grouping: Aggregate => UnionsApart(grouping, made => isLate(made) && !read.contains(made.toAttribute)).flatMap(apart(_, read))
    case _ => None
  }

  /** The columns, the late ones of which are not made in a projection of the rows. */
  private def split(columns: Seq[NamedExpression], late: Seq[NamedExpression], rows: LogicalPlan): (Seq[NamedExpression], LogicalPlan) = {
    val made = AttributeMap(late.map(column => column.toAttribute -> column))
    val left = columns.filterNot(column => made.contains(column.toAttribute))
    val moved = columns.flatMap(column => made.get(column.toAttribute))
    val wanted = AttributeSet(moved.flatMap(_.references)) -- left.map(_.toAttribute)
    (columns.map(column => made.getOrElse(column.toAttribute, column.toAttribute)), Project(left ++ wanted.toSeq, rows))
  }

  private def isLate(column: NamedExpression): Boolean = column match {
    case Alias(made, _) =>
      made.deterministic && isLineage(made.dataType) && (made.exists(_.isInstanceOf[ScalarSubquery]) || addsIds(made))
    case _ => false
  }

  /** Whether it unites a set with ids at most, which take no more bytes apart; lists, such as candidates of a key, would. */
  private def addsIds(made: Expression): Boolean = {
    val unions = made.collect { case union: DlUnionAll => union }
    unions.nonEmpty && unions.forall(_.hasNoLists) && made.references.count(_.dataType == BinaryType) <= 1
  }

  private def isLineage(kind: DataType): Boolean = kind match {
    case BinaryType => true
    case struct: StructType => struct.forall(_.dataType == BinaryType)
    case _ => false
  }
}
