package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions.Expression

/** Up to 3.5 no expression shares parts, and BETWEEN is two comparisons. */
private[forwardlineage] object NewerExpressions {
  object Shared {
    def unapply(expression: Expression): Option[Expression] = None
  }

  object Range {
    def unapply(expression: Expression): Option[(Expression, Expression, Expression)] = None
  }
}
