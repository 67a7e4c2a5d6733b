package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.optimizer.{BuildSide, JoinSelectionHelper}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Join, LogicalPlan}
import org.apache.spark.sql.internal.SQLConf

import Sessions.SparkSession

/** What Spark's planner is asked. */
private[forwardlineage] object Planning extends JoinSelectionHelper {

  /** Which side of a join it would broadcast. */
  def broadcastSide(join: Join): Option[BuildSide] = getBroadcastBuildSide(join, hintOnly = false, SQLConf.get)

  /** Whether rows can be grouped in a hash table: by these keys, with these buffers. */
  def supportsHashAggregate(buffers: Seq[Attribute], keys: Seq[Expression]): Boolean = Aggregate.supportsHashAggregate(buffers, keys)

  /** Whether rows of a plan are kept. */
  def isCached(session: SparkSession, plan: LogicalPlan): Boolean =
    session.sharedState.cacheManager.lookupCachedData(session, plan).isDefined
}
