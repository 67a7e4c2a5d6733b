package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions.{Expression, RaiseError, SortOrder}
import org.apache.spark.sql.types.DataType

/** Up to 3.5 no expression shares parts, BETWEEN is two comparisons, and there is neither XML nor `listagg`, VARIANT or collation. */
private[forwardlineage] object NewerExpressions {
  object Shared {
    def unapply(expression: Expression): Option[Expression] = None
  }

  object Range {
    def unapply(expression: Expression): Option[(Expression, Expression, Expression)] = None
  }

  object Raised {
    def unapply(expression: Expression): Option[Expression] = expression match {
      case RaiseError(message, _) => Some(message)
      case _ => None
    }
  }

  object LeastMode {
    def unapply(called: Expression): Option[Expression] = None
  }

  object ListAggregated {
    def unapply(called: Expression): Option[(Expression, Expression, Seq[SortOrder])] = None
  }

  object VariantRead {
    def unapply(expression: Expression): Option[(String, Expression, Expression, Option[DataType])] = None
  }

  object Collated {
    def unapply(expression: Expression): Option[(Expression, String)] = None
  }

  object Xml {
    def unapply(expression: Expression): Option[(String, Expression, Option[DataType], Map[String, String])] = None
  }
}
