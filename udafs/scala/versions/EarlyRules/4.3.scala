package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule

import Sessions.SparkSession

/** Rules that run before Spark's rules for operators, and after CTEs have been put in place. */
private[forwardlineage] object EarlyRules {
  def known(session: SparkSession): Seq[Rule[LogicalPlan]] = session.extensions.buildPreOperatorOptimizationRules(session)
  def inject(extensions: SparkSessionExtensions, rule: Rule[LogicalPlan]): Unit = extensions.injectPreOperatorOptimizationRule(_ => rule)
}
