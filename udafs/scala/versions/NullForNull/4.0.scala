package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions.Expression

/** Is NULL where an argument is. */
private[forwardlineage] trait NullForNull extends Expression {
  override def nullIntolerant: Boolean = true
}
