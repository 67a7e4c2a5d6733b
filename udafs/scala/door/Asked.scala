package org.apache.spark.sql.forwardlineage

import java.util.concurrent.CompletableFuture

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

import Sessions.SparkSession

/** What Python says of a statement. */
private[sql] sealed trait Answer

/** A command, as it is to be run: CREATE … AS, INSERT. Nothing has run yet. */
private[sql] final case class ToRun(sql: String) extends Answer

/** A query with `DL`, analysed; its tables were looked at, and it means to Spark what it means to the rules. */
private[sql] final case class Analysed(plan: LogicalPlan) extends Answer

/** It asks for lineage, and will not get it: what, where, and what to do instead. */
private[sql] final case class NotTraced(message: String) extends Answer

/** It is not one of ours: it means to Spark what Spark makes of it. */
private[sql] case object NotAsked extends Answer

/** A statement on its way: the answer comes when Python has it, or fails when Python has ended. */
private[sql] final class Asked(val session: SparkSession, val text: String, val onlyWhether: Boolean) {
  val answer = new CompletableFuture[Answer]
}

/** Python has ended; `said` is the last that it said. */
private[sql] final class PythonEnded(val said: String) extends Exception(said, null, false, false)
