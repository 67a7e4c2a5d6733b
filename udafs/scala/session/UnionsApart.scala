package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions.{Alias, NamedExpression}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Project}

/** Columns that a grouping makes of what it unites, made above it of columns that have the unions. */
private object UnionsApart {
  def apply(grouping: Aggregate, isMade: NamedExpression => Boolean): Option[Project] = {
    val (made, kept) = grouping.aggregateExpressions.partition(isMade)
    val unions = made.flatMap(_.collect { case e: AggregateExpression => e })
    val columns = unions.map(e => e.canonicalized -> Alias(e, "dl")()).toMap
    val above = grouping.aggregateExpressions.map { column =>
      if (made.contains(column))
        column.transformDown { case e: AggregateExpression => columns(e.canonicalized).toAttribute }.asInstanceOf[NamedExpression]
      else column.toAttribute
    }
    val below = grouping.copy(aggregateExpressions = kept ++ columns.values)
    val project = Project(above, below)
    if (made.nonEmpty && columns.nonEmpty && project.references.subsetOf(below.outputSet)) Some(project) else None
  }
}
