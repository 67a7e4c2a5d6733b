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

  def makes(expression: Expression): Boolean = expression match {
    case _: DlUnion | _: DlUnionAll | _: DlCompose => true
    case _ => false
  }
}

/**
 * The answers to questions about a lineage value do not depend on its encoding: one that is made for a question is a quick one.
 * One that the same node wants for itself, too, stays as it is, so that both go on being one value, made once.
 */
object QuickQuestions extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transformUp { case node =>
    val wanted = node.expressions.flatMap(madeOutsideQuestions)
    node.transformExpressions {
      case question if asks(question) && !question.exists(made => wanted.exists(_.semanticEquals(made))) =>
        question.mapChildren(QuickValues(_))
    }
  }

  private def asks(expression: Expression): Boolean = expression match {
    case _: DlSize | _: DlIds | _: DlContains | _: DlIntersects => true
    case _ => false
  }

  private def madeOutsideQuestions(expression: Expression): Seq[Expression] =
    if (asks(expression)) Nil
    else if (QuickValues.makes(expression)) expression +: expression.children.flatMap(madeOutsideQuestions)
    else expression.children.flatMap(madeOutsideQuestions)
}
