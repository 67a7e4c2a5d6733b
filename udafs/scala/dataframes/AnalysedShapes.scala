package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, PivotFirst}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Expand, LogicalPlan, Project}
import org.apache.spark.sql.types.StringType
import org.apache.spark.unsafe.types.UTF8String

/**
 * ROLLUP, CUBE and GROUPING SETS, read back from what Spark's analysis makes of them.
 *
 * @param rows what is grouped, in which the keys are columns of their own
 * @param passed columns of the expansion that are those of the rows, with these
 * @param keys those above the expansion, with the columns below it
 * @param id the column that tells the sets apart
 * @param sets the keys of each set
 */
final private case class KeySets(
    rows: LogicalPlan,
    passed: Seq[(Attribute, Attribute)],
    keys: Seq[(Attribute, Attribute)],
    id: Attribute,
    sets: Seq[Seq[Attribute]])

private object KeySets {

  /** None: the expansion is another one. */
  def apply(groups: Aggregate, expand: Expand): Option[KeySets] = {
    val size = groups.groupingExpressions.size
    val added = expand.output.takeRight(size)
    val last = if (added.lastOption.exists(_.name == "_gen_grouping_pos")) 2 else 1 // there is a number for each set if two are the same
    val keys = added.dropRight(last)
    val ids = added.takeRight(last)
    val projections = expand.projections.map(_.takeRight(size))
    val below = keys.indices.map(place => projections.map(_(place)).collectFirst { case column: Attribute => column })
    val isOfSets = ids.headOption.exists(_.name == "spark_grouping_id") && below.forall(_.isDefined) &&
      groups.groupingExpressions.map(_.canonicalized) == added.map(_.canonicalized)
    if (!isOfSets) None
    else {
      val sets = projections.map(each => keys.zip(each).collect { case (key, _: Attribute) => key })
      val passed = expand.output.dropRight(size).zip(expand.projections.head).collect { case (above, column: Attribute) => above -> column }
      Some(KeySets(expand.child, passed, keys.zip(below.flatten), ids.head, sets))
    }
  }
}

/**
 * UNPIVOT, read back from what Spark's analysis makes of it.
 *
 * @param kept columns that stay, with those below the expansion
 * @param values what becomes rows, a column each
 * @param names what the rows' column of names says of each
 * @param name that column
 * @param value the column of values
 */
final private case class Unpivoted(kept: Seq[(Attribute, Attribute)], values: Seq[Expression], names: Seq[String], name: Attribute, value: Attribute)

private object Unpivoted {
  def apply(expand: Expand): Option[Unpivoted] = {
    val above = expand.output.dropRight(2)
    val kept = above.zip(expand.projections.head).collect { case (column, below: Attribute) => column -> below }
    val isKept = expand.projections.forall(_.take(above.size).zip(kept).forall {
      case (column: Attribute, (_, same)) => column.exprId == same.exprId
      case _ => false
    }) && kept.size == above.size
    val turned = expand.projections.map(_.takeRight(2)).collect { case Seq(Literal(name: UTF8String, StringType), value) => name.toString -> value }
    if (!isKept || turned.size != expand.projections.size || expand.output.size < 2) None
    else Some(Unpivoted(kept, turned.map(_._2), turned.map(_._1), expand.output(above.size), expand.output.last))
  }
}

/**
 * PIVOT, read back from the two groupings that Spark's analysis makes of it.
 *
 * @param rows what is grouped
 * @param keys what rows are grouped by, and the columns that say it
 * @param by whose values become columns
 * @param aggregates what is computed for each of these
 * @param values which ones
 * @param outputs the columns of the aggregates, for the first value, then for the next
 */
final private case class Pivoted(
    rows: LogicalPlan,
    keys: Seq[(Expression, Attribute)],
    by: Expression,
    aggregates: Seq[Expression],
    values: Seq[Literal],
    outputs: Seq[Attribute])

private object Pivoted {
  def unapply(plan: LogicalPlan): Option[Pivoted] = plan match {
    case Project(columns, above: Aggregate) =>
      (above.child, firsts(above)) match {
        case (below: Aggregate, found) if found.nonEmpty => of(columns, below, above.groupingExpressions.size, found)
        case _ => None
      }
    case _ => None
  }

  private def firsts(above: Aggregate): Seq[PivotFirst] = above.aggregateExpressions.collect {
    case Alias(AggregateExpression(first: PivotFirst, _, _, _, _), _) => first
  }

  private def of(columns: Seq[NamedExpression], below: Aggregate, keys: Int, firsts: Seq[PivotFirst]): Option[Pivoted] = {
    val (grouped, computed) = below.aggregateExpressions.splitAt(keys + 1)
    val values = firsts.head.pivotColumnValues.map(Literal(_, firsts.head.pivotColumn.dataType))
    val isWhole = computed.map(_.exprId) == firsts.map(_.valueColumn).collect { case column: Attribute => column.exprId } &&
      columns.size == keys + values.size * computed.size
    if (!isWhole) None
    else {
      val said = grouped.map { case Alias(child, _) => child; case column => column }
      val outputs = columns.drop(keys).map(_.toAttribute)
      Some(Pivoted(below.child, said.init.zip(columns.take(keys).map(_.toAttribute)), said.last, computed.map(_.children.head), values, outputs))
    }
  }
}
