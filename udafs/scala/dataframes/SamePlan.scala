package org.apache.spark.sql.forwardlineage

import scala.util.control.NonFatal

import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.catalyst.optimizer.{ConvertToLocalRelation, ReplaceExceptWithFilter}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, ResolvedHint}
import org.apache.spark.sql.internal.SQLConf

import Sessions.SparkSession

/** The fidelity guard of DataFrames: the SQL that was written must mean to Spark what the plan means. */
private object SamePlan {

  /** Throws `NotWritten` if the optimised plans differ, or the columns. */
  def check(session: SparkSession, plan: LogicalPlan, sql: String): Unit = {
    val read =
      try Plainer(session.sessionState.executePlan(session.sessionState.sqlParser.parsePlan(sql)).analyzed)
      catch {
        case unknown: AnalysisException if unknown.getErrorClass == "UNRESOLVED_ROUTINE" =>
          NotWritten.refuse(
            s"a function that SQL does not know: ${unknown.getMessageParameters.get("routineName")}",
            "Save what it gives as a table, register it, and trace what is made of it.")
        case NonFatal(sparks) => differ("it", s"${sparks.getMessage}")
      }
    if (columns(read) != columns(plan)) differ(columns(plan).toString, columns(read).toString)
    if (!areSame(plan, read)) { // as they were analysed; most texts are written as they are read
      val wanted = optimized(session, plan)
      val found = try optimized(session, read) catch { case NonFatal(sparks) => differ("it", s"${sparks.getMessage}") }
      if (!areSame(wanted, found)) explain(wanted.canonicalized, found.canonicalized)
    }
  }

  private def areSame(wanted: LogicalPlan, found: LogicalPlan): Boolean = {
    val keys = new PlanKeys
    keys.of(wanted) == keys.of(found)
  }

  private def columns(plan: LogicalPlan): Seq[(String, String)] = plan.output.map(each => each.name -> each.dataType.sql)

  /**
   * Without what is kept in memory, which may serve one and not the other; hints change no row. Two rules ask how columns are
   * named or carried: they would make other plans of the same rows.
   */
  private def optimized(session: SparkSession, plan: LogicalPlan): LogicalPlan = {
    val bare = plan.transformUpWithSubqueries { case ResolvedHint(child, _) => child }.clone()
    val conf = session.sessionState.conf.clone()
    val excluded = conf.getConf(SQLConf.OPTIMIZER_EXCLUDED_RULES).toSeq :+ ConvertToLocalRelation.ruleName :+ ReplaceExceptWithFilter.ruleName
    conf.setConfString(SQLConf.OPTIMIZER_EXCLUDED_RULES.key, excluded.mkString(","))
    SQLConf.withExistingConf(conf)(session.sessionState.optimizer.execute(bare))
  }

  private def explain(wanted: LogicalPlan, found: LogicalPlan): Nothing = {
    val lines = Seq(wanted, found).map(_.treeString.linesIterator.toSeq)
    val (first, second) = lines.head.zipAll(lines(1), "nothing", "nothing").find { case (one, other) => one != other }.getOrElse(("", ""))
    differ(first.trim, second.trim)
  }

  private def differ(wanted: String, found: String): Nothing = NotWritten.refuse(
    s"a plan that Spark does not read back from SQL as it was: ${wanted.take(160)} became ${found.take(160)}",
    "Write that part as SQL, or save what stands below it and register that.")
}
