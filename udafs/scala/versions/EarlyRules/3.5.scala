package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule

import Sessions.SparkSession

/** Before 4.3 no rule of an extension runs before Spark's rules for operators: those of here do not run. */
private[forwardlineage] object EarlyRules {
  def known(session: SparkSession): Seq[Rule[LogicalPlan]] = Nil
  def inject(extensions: SparkSessionExtensions, rule: Rule[LogicalPlan]): Unit = ()
}
