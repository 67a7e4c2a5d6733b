package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions.Expression

/** From 4.0 on `session_window` of a DataFrame keeps the text that it is given, as in SQL. */
private[forwardlineage] object CalendarIntervals {
  val function: Option[Seq[Expression] => Expression] = None

  object Written {
    def unapply(expression: Expression): Option[String] = None
  }
}
