package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions.Expression

/** `* EXCEPT (…)`: from 4.0 on SQL has it. */
private[forwardlineage] object StarExcept {
  val function: Option[Seq[Expression] => Expression] = None
}
