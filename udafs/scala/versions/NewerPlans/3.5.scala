package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** What plans have since 4.0: in 3.5 nothing is any of it. */
private[forwardlineage] object NewerPlans {
  object TableFunction {
    def unapply(plan: LogicalPlan): Option[(FunctionIdentifier, LogicalPlan)] = None
  }

  object ScalarFunction {
    def unapply(call: Expression): Option[(FunctionIdentifier, Expression)] = None
  }

  object Variable {
    def unapply(variable: Expression): Option[String] = None
  }

  object Piped {
    def unapply(plan: LogicalPlan): Option[LogicalPlan] = None
  }

  object Recursive {
    def unapply(plan: LogicalPlan): Option[(Any, Seq[LogicalPlan], Option[Any], Option[Any])] = None
  }

  object StepBefore {
    def unapply(plan: LogicalPlan): Option[Any] = None
  }

  def isScript(plan: LogicalPlan): Boolean = false

  def readsNothing(leaf: LogicalPlan): Boolean = false
}
