package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.types.DataType

/** Up to 3.5 no expression shares parts, BETWEEN is two comparisons, and there is no XML. */
private[forwardlineage] object NewerExpressions {
  object Shared {
    def unapply(expression: Expression): Option[Expression] = None
  }

  object Range {
    def unapply(expression: Expression): Option[(Expression, Expression, Expression)] = None
  }

  object Xml {
    def unapply(expression: Expression): Option[(String, Expression, Option[DataType], Map[String, String])] = None
  }
}
