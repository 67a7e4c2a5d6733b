package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, SubqueryAlias}

/** The rows that a function of Python's gives, as SQL reads them: what they and their columns are called. */
private[sql] object GivenRows {
  private val Prefix = "__dl_given_" // as in dataframes/functions.py

  /** The name by which SQL reads the rows of a function; None: the plan is something else. */
  def nameOf(plan: LogicalPlan): Option[String] = plan match {
    case SubqueryAlias(identifier, _) if identifier.name.startsWith(Prefix) => Some(SqlName.quoted(identifier.name))
    case _ => None
  }

  def column(place: Int): String = s"c$place"

  /** The column of a set of ids of a table. */
  def hidden(place: Int): String = s"__dl_$place"

  def numbered(columns: Seq[Attribute]): Seq[NamedExpression] =
    columns.zipWithIndex.map { case (each, place) => Alias(each, column(place))() }
}
