package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions.{Expression, PlanExpression}
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan, OneRowRelation, Range, View}

/** Functions whose body is SQL (CREATE FUNCTION … RETURN …): Spark puts the body where the call stands. */
private object SqlFunctions {

  /** A call: the function's name, and whether its body reads a table or a view, which the text around does not name. */
  final case class Call(name: String, readsTables: Boolean)

  /** The calls in an analysed plan. */
  def called(plan: LogicalPlan): Seq[Call] =
    plan.collectWithSubqueries {
      case NewerPlans.TableFunction(name, body) => Seq(Call(name.unquotedString, readsTables(body)))
      case node =>
        node.expressions.flatMap(_.collect { case NewerPlans.ScalarFunction(name, body) =>
          Call(name.unquotedString, asksTables(body))
        })
    }.flatten

  private def asksTables(body: Expression): Boolean = body.exists {
    case subquery: PlanExpression[_] => readsTables(subquery.plan.asInstanceOf[LogicalPlan])
    case _ => false
  }

  private def readsTables(body: LogicalPlan): Boolean =
    body.collectWithSubqueries {
      case _: View => true
      case leaf if leaf.children.isEmpty =>
        leaf match {
          case _: OneRowRelation | _: LocalRelation | _: Range => false
          case _ => true
        }
    }.contains(true)
}
