package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions.Expression

/** Where chance comes from: a value that may be another one at the next evaluation, as of `rand()`. */
private object Chance {

  /** Whether an expression brings it in; those around it have it from there. */
  def begins(each: Expression): Boolean = !each.deterministic && each.children.forall(_.deterministic)
}
