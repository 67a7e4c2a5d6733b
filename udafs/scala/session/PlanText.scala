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

  /** The plan as text, and the columns as JSON. */
  def of(session: SparkSession, sql: String): Array[String] = {
    val analyzed = analyze(session, session.sessionState.sqlParser.parsePlan(sql))
    Array(of(session, analyzed), analyzed.analyzed.schema.json)
  }

  /** The same for a query whose parameters are bound. */
  def of(session: SparkSession, bound: LogicalPlan): Array[String] = {
    val analyzed = analyze(session, bound)
    Array(of(session, analyzed), analyzed.analyzed.schema.json)
  }

  /** The columns alone. */
  def schema(session: SparkSession, sql: String): String =
    analyze(session, session.sessionState.sqlParser.parsePlan(sql)).analyzed.schema.json

  private def analyze(session: SparkSession, plan: LogicalPlan): QueryExecution = {
    val execution = session.sessionState.executePlan(plan, CommandExecutionMode.SKIP)
    execution.assertAnalyzed()
    execution
  }

  private def of(session: SparkSession, execution: QueryExecution): String =
    execution.analyzed match {
      // The query inside a command is optimised only when the command is carried out.
      case command: Command =>
        val queries = (command.children ++ command.innerChildren).collect { case query: LogicalPlan => query }
        (command.simpleString(Int.MaxValue) +: queries.map(query => of(session, analyze(session, query)))).mkString("\n")
      case _ => text(execution)
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
