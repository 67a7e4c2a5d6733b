package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.analysis.{SQLFunctionNode, SQLScalarFunction}
import org.apache.spark.sql.catalyst.expressions.{Expression, PipeOperator, VariableReference}
import org.apache.spark.sql.catalyst.plans.logical.{CompoundBody, EmptyRelation, LogicalPlan, UnionLoop, UnionLoopRef}

/** What plans have since 4.0: functions whose body is SQL, variables of a session, scripts, recursion. */
private[forwardlineage] object NewerPlans {

  /** A call of a function in FROM whose body is SQL: its name and its body. */
  object TableFunction {
    def unapply(plan: SQLFunctionNode): Some[(FunctionIdentifier, LogicalPlan)] = Some((plan.function.name, plan.child))
  }

  /** A call of one that gives a value. */
  object ScalarFunction {
    def unapply(call: SQLScalarFunction): Some[(FunctionIdentifier, Expression)] = Some((call.function.name, call.child))
  }

  object Variable {
    def unapply(variable: VariableReference): Some[String] = Some(variable.identifier.name)
  }

  /** Where an operator of pipe syntax begins: the rows below it. */
  object Piped {
    def unapply(mark: PipeOperator): Some[LogicalPlan] = Some(mark.child)
  }

  /** WITH RECURSIVE, where it is read: its id; what it begins with, and a step; how many rows and steps at most, where that is said. */
  object Recursive {
    def unapply(plan: UnionLoop): Some[(Any, Seq[LogicalPlan], Option[Any], Option[Any])] = {
      val bounds = plan.productIterator.collect { case bound: Option[_] => bound }.toSeq // of levels from 4.1 on
      Some((plan.id, Seq(plan.anchor, plan.recursion), bounds.headOption.flatten, bounds.drop(1).headOption.flatten))
    }
  }

  /** What a step reads of the one before: of which recursion. */
  object StepBefore {
    def unapply(plan: UnionLoopRef): Some[Any] = Some(plan.loopId)
  }

  /** BEGIN … END */
  def isScript(plan: LogicalPlan): Boolean = plan.isInstanceOf[CompoundBody]

  /** Whether a leaf's rows come from the plan itself. */
  def readsNothing(leaf: LogicalPlan): Boolean = leaf match {
    case _: UnionLoopRef | _: EmptyRelation => true
    case _ => false
  }
}
