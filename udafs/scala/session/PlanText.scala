package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.QueryPlanningTracker
import org.apache.spark.sql.catalyst.expressions.PythonUDAF
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Command, LocalRelation, LogicalPlan, OneRowRelation}
import org.apache.spark.sql.execution.{CommandExecutionMode, QueryExecution}
import org.apache.spark.sql.execution.command.CreateViewCommand
import org.apache.spark.sql.execution.datasources.HadoopFsRelation

import Sessions.SparkSession

/**
 * What Spark makes of a statement, as text: two texts with equal plans ask for the same.
 *
 * It is the optimised plan (analysed plans of equal queries differ in casts of literals), with what a plan's own text leaves
 * out: the rows of inline tables and the location of files. Nothing is run; a `CREATE … AS` is not carried out either.
 */
final class PlanText {

  /**
   * The plan as text, the columns as JSON, and by name, "" where there are none: the Python functions that aggregate groups,
   * and the functions written in SQL that read tables; then paths, see `Readings`: of what is read, of the user's functions,
   * and of those that are left to chance.
   */
  def of(session: SparkSession, sql: String): Array[String] =
    described(session, analyze(session, parse(session, sql)))

  /** The same without the plan, "" in its place: nothing is optimised. */
  def factsOf(session: SparkSession, sql: String): Array[String] =
    described(session, analyze(session, parse(session, sql)), withPlan = false)

  /** The same of an INSERT by position whose rows will have one more column than they have now, their lineage. */
  def ofTraced(session: SparkSession, sql: String): Array[String] =
    described(session, analyze(session, Inserts.named(session, parse(session, sql))))

  /** The same for a query whose parameters are bound. */
  def of(session: SparkSession, bound: LogicalPlan): Array[String] = described(session, analyze(session, bound))

  /** Like `of`, where tables that carry lineage have their users' columns alone. */
  def ofThrough(session: SparkSession, sql: String): Array[String] = ofThrough(session, parse(session, sql))

  /** Like `ofTraced`, where the tables that are read have their users' columns alone. */
  def ofTracedThrough(session: SparkSession, sql: String): Array[String] =
    ofThrough(session, Inserts.named(session, parse(session, sql)))

  /** The same for a query whose parameters are bound, and that is not analysed yet. */
  def ofThrough(session: SparkSession, bound: LogicalPlan): Array[String] = session.withActive {
    val analyzer = StoredLineage.analyzer(session)
    described(session, analyze(session, analyzer.executeAndCheck(bound, new QueryPlanningTracker)))
  }

  /** The columns alone. */
  def schema(session: SparkSession, sql: String): String =
    analyze(session, parse(session, sql)).analyzed.schema.json

  /** A script (BEGIN … END) is carried out when it is analysed, so nothing is asked of it. */
  private def parse(session: SparkSession, sql: String): LogicalPlan =
    session.sessionState.sqlParser.parsePlan(sql) match {
      case script if NewerPlans.isScript(script) => OneRowRelation()
      case plan => plan
    }

  private def described(session: SparkSession, execution: QueryExecution, withPlan: Boolean = true): Array[String] = {
    val queries = execution.analyzed match {
      case command: Command => inside(command)
      case query => Seq(query)
    }
    val python = queries.flatMap(_.collectWithSubqueries {
      case groups: Aggregate => groups.aggregateExpressions.flatMap(_.collect { case each: PythonUDAF => each.name })
    }).flatten
    val reading = queries.flatMap(SqlFunctions.called).filter(_.readsTables).map(_.name)
    val names = Seq(python, reading)
    val readings = new Readings
    queries.foreach(readings.look(_))
    val paths = Seq(readings.relations, readings.functions, readings.chances).map(Readings.text)
    val text = if (withPlan) of(session, execution) else ""
    (Seq(text, execution.analyzed.schema.json) ++ names.map(_.distinct.mkString(", ")) ++ paths).toArray
  }

  private def analyze(session: SparkSession, plan: LogicalPlan): QueryExecution = {
    val execution = session.sessionState.executePlan(plan, CommandExecutionMode.SKIP)
    execution.assertAnalyzed()
    execution
  }

  private def of(session: SparkSession, execution: QueryExecution): String =
    execution.analyzed match {
      // The query inside a command is optimised only when the command is carried out.
      case command: Command =>
        val queries = inside(command).map(query => of(session, analyze(session, query)))
        (withoutSpelling(command).simpleString(Int.MaxValue) +: queries).mkString("\n")
      case _ => text(execution)
    }

  private def inside(command: LogicalPlan): Seq[LogicalPlan] =
    (command.children ++ command.innerChildren).collect { case query: LogicalPlan => query }

  /** Without the text of a view as its maker spelled it: what it means is compared as a plan. */
  private def withoutSpelling(command: LogicalPlan): LogicalPlan = command match {
    case view: CreateViewCommand => view.copy(originalText = None)
    case other => other
  }

  private def text(execution: QueryExecution): String = {
    val plan = execution.optimizedPlan
    val leaves = plan.collectWithSubqueries {
      case table: LocalRelation =>
        val types = table.schema
        table.data.map(_.toSeq(types).map(show).mkString("(", ", ", ")")).mkString("rows ", ", ", "")
      case RelationOf(files: HadoopFsRelation, _) => files.location.rootPaths.mkString("files ", ", ", "")
    }
    val tree = plan.treeString(verbose = true, addSuffix = false, maxFields = Int.MaxValue, printOperatorId = false)
    (tree +: leaves).mkString("\n")
  }

  private def show(value: Any): String = value match {
    case bytes: Array[Byte] => bytes.map("%02x".format(_)).mkString
    case other => String.valueOf(other)
  }
}
