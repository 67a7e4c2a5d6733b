package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule

/**
 * dl_quick(expr): the same value; the functions in it that make lineage values are told to make quick ones (`Encoding.Quick`).
 * It is gone when the query has been analysed.
 */
private object QuickValues {
  def apply(expression: Expression): Expression = expression.transform {
    case union: DlUnion => union.copy(setting = Encoding.Quick)
    case union: DlUnionAll => union.copy(setting = Encoding.Quick)
    case composed: DlCompose => composed.copy(setting = Encoding.Quick)
  }
}

/** The answers to questions about a lineage value do not depend on its encoding: one that is made for a question is a quick one. */
object QuickQuestions extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transformAllExpressions {
    case question @ (_: DlSize | _: DlIds | _: DlContains | _: DlIntersects) =>
      question.mapChildren(QuickValues(_))
  }
}
