package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.plans.logical.CTERelationDef

/**
 * Before it optimises a plan, Spark numbers its CTEs from 0. 4.1 may do that twice to what reads a CTE inside of another one, and takes an id
 * that it has just given for one that is to be changed: then a query that is the process's first but a few reads another CTE, or fails.
 */
private[forwardlineage] object CteIds {
  private val First = 1L << 32

  /** From now on a CTE gets an id that no CTE of a query has been given again. */
  def apart(): Unit = CTERelationDef.curId.updateAndGet(math.max(_, First))
}
