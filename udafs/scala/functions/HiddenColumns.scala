package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions.NamedExpression

/** The columns that carry lineage through a query, `__dl_` and the name of a table or a stage (`rewrites.terms.hidden_column`). */
private object HiddenColumns {
  private val Prefix = "__dl_"

  /** Those that rules of the rewriting make of the user's values (`rewrites.decorrelation`, `rules.set_operations`). */
  private val OfValues = s"$Prefix(key\\d+|rows|its value|\\..*)".r

  /** Whether it is one. A table with the name of a key is taken for none: a plan may cost more then, and is never another one. */
  def is(column: NamedExpression): Boolean = column.name.startsWith(Prefix) && !OfValues.pattern.matcher(column.name).matches
}
