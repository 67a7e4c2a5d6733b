package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.plans.logical.{Command, LocalRelation, LogicalPlan}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.{CommandExecutionMode, QueryExecution}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}

/**
 * What Spark makes of a statement, as text: two texts with equal plans ask for the same.
 *
 * It is the optimised plan (analysed plans of equal queries differ in casts of literals), with what a plan's own text leaves
 * out: the rows of inline tables and the location of files. Nothing is run; a `CREATE … AS` is not carried out either.
 *
 * A class, not an object: Python makes one through the class loader of the added jar.
 */
final class PlanText {

  def of(session: SparkSession, sql: String): String =
    of(session, session.sessionState.sqlParser.parsePlan(sql))

  /** The same for a statement that was parsed, and its parameters bound, elsewhere. */
  def of(session: SparkSession, plan: LogicalPlan): String = {
    val execution = session.sessionState.executePlan(plan, CommandExecutionMode.SKIP)
    execution.assertAnalyzed()
    execution.analyzed match {
      // The query inside a command is optimised only when the command is carried out.
      case command: Command =>
        val queries = (command.children ++ command.innerChildren).collect { case query: LogicalPlan => query }
        (command.simpleString(Int.MaxValue) +: queries.map(of(session, _))).mkString("\n")
      case _ => text(execution)
    }
  }

  /** The columns of a query as JSON, without running it. */
  def schema(session: SparkSession, sql: String): String = {
    val execution =
      session.sessionState.executePlan(session.sessionState.sqlParser.parsePlan(sql), CommandExecutionMode.SKIP)
    execution.assertAnalyzed()
    execution.analyzed.schema.json
  }

  private def text(execution: QueryExecution): String = {
    val plan = execution.optimizedPlan
    val leaves = plan.collectWithSubqueries {
      case table: LocalRelation =>
        val types = table.schema
        table.data.map(_.toSeq(types).map(show).mkString("(", ", ", ")")).mkString("rows ", ", ", "")
      case LogicalRelation(files: HadoopFsRelation, _, _, _, _) => files.location.rootPaths.mkString("files ", ", ", "")
    }
    val tree = plan.treeString(verbose = true, addSuffix = false, maxFields = Int.MaxValue, printOperatorId = false)
    (tree +: leaves).mkString("\n")
  }

  private def show(value: Any): String = value match {
    case bytes: Array[Byte] => bytes.map("%02x".format(_)).mkString
    case other => String.valueOf(other)
  }
}
