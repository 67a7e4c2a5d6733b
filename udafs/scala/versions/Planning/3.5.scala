package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.optimizer.{BuildSide, JoinSelectionHelper}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Join, LogicalPlan}
import org.apache.spark.sql.internal.SQLConf

import Sessions.SparkSession

/** What Spark's planner is asked: in 3.5 rows can be grouped in a hash table whatever their keys are. */
private[forwardlineage] object Planning extends JoinSelectionHelper {
  def broadcastSide(join: Join): Option[BuildSide] =
    getBroadcastBuildSide(join.left, join.right, join.joinType, join.hint, hintOnly = false, SQLConf.get)

  def supportsHashAggregate(buffers: Seq[Attribute], keys: Seq[Expression]): Boolean = Aggregate.supportsHashAggregate(buffers)

  def isCached(session: SparkSession, plan: LogicalPlan): Boolean =
    session.sharedState.cacheManager.lookupCachedData(plan).isDefined
}
