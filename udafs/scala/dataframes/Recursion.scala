package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/**
 * WITH RECURSIVE in a plan.
 *
 * @param id what `NewerPlans.StepBefore` gives inside of `step`
 * @param anchor the rows that it begins with
 * @param step what is made of the rows of the step before
 * @param limit how many rows at most, where that was said
 * @param levels how many steps at most, where that was said
 */
final private[sql] case class Recursion(id: Any, anchor: LogicalPlan, step: LogicalPlan, limit: Option[Any], levels: Option[Any])
