package org.apache.spark.sql.forwardlineage

import java.util.Locale

import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.json4s.{JObject, JString}
import org.json4s.jackson.JsonMethods.compact

import Sessions.{Dataset, SparkSession}

/** A DataFrame as the SQL that asks for the same rows, checked by Spark. */
private[sql] object FrameSql {

  /**
   * As JSON: `sql`; or `what` in it has no text, and what to do `instead`.
   *
   * @param registered names of tables and results, as SQL writes them; an unnamed part of the plan may be one of these
   * @param given names of views of the rows that functions of Python's give, in the order of `FrameFunction.in`
   */
  def of(session: SparkSession, frame: Dataset[_], registered: Seq[String], given: Seq[String]): String = session.withActive {
    val answer =
      try {
        Plainer.refuseChance(frame.queryExecution.analyzed)
        val names = new NamesInPlans(session, registered)
        val plan = Plainer(FrameFunction.named(frame.queryExecution.analyzed, names.of, given.iterator))
        val functions = new UsersFunctions(session)
        val sql = new PlanSql(names.of, functions.nameOf).text(plan)
        SamePlan.check(session, plan, sql)
        Seq("sql" -> sql)
      } catch {
        case refused: NotWritten => Seq("what" -> refused.what, "instead" -> refused.instead)
      }
    compact(JObject(answer.map { case (key, value) => key -> JString(value) }.toList))
  }

  /** Whether SQL asks for the rows of a DataFrame: empty, or the difference. */
  def difference(session: SparkSession, frame: Dataset[_], sql: String): String = session.withActive {
    try {
      SamePlan.check(session, Plainer(frame.queryExecution.analyzed), sql)
      ""
    } catch { case refused: NotWritten => refused.what }
  }
}

/** What the parts of a plan are called in FROM. */
final private class NamesInPlans(session: SparkSession, registered: Seq[String]) {
  private val parser = session.sessionState.sqlParser
  private val known = registered.map(parser.parseMultipartIdentifier).collect { case Seq(name) => name.toLowerCase(Locale.ROOT) }.toSet

  /** The plans of registered tables, looked at when a part has no name of its own. */
  private lazy val plans: Map[Any, Seq[String]] =
    registered.flatMap(name => analyzed(name).map(plan => NamesInPlans.key(bare(plan)) -> name))
      .groupBy(_._1).map { case (key, names) => key -> names.map(_._2) }

  def of(plan: LogicalPlan): Option[String] = plan match {
    case given if GivenRows.nameOf(given).isDefined => GivenRows.nameOf(given)
    case view: View if view.desc.identifier.table.startsWith("__dl_") =>
      NotWritten.refuse(
        "rows that lineage.sql gave, without their lineage",
        "Trace what it was made of; or keep the column DL, and save the DataFrame as it is.")
    case view: View if view.isTempView =>
      val name = view.desc.identifier.table
      if (known(name.toLowerCase(Locale.ROOT)) || !view.isTempViewStoringAnalyzedPlan) Some(SqlName.quoted(name)) else None
    case view: View => Some(view.desc.identifier.nameParts.map(SqlName.quoted).mkString("."))
    case SubqueryAlias(identifier, below) if isNamed(below) =>
      Some((identifier.qualifier :+ identifier.name).map(SqlName.quoted).mkString("."))
    case _: SubqueryAlias | _: Project | _: Filter | _: Join | _: Aggregate => None
    case leaf if leaf.children.isEmpty => registeredAs(leaf)
    case _ => None
  }

  /** Whether a relation of a catalog stands there, whose alias is its full name. */
  private def isNamed(plan: LogicalPlan): Boolean = plan match {
    case Project(list, relation) => isNamed(relation) && CatalogRelations.arePadded(list, relation)
    case leaf if leaf.children.nonEmpty => false
    case relation => CatalogRelations.isNamed(relation)
  }

  private def registeredAs(leaf: LogicalPlan): Option[String] = leaf match {
    case _: OneRowRelation | _: Range => None
    case other => plans.getOrElse(NamesInPlans.key(other), Nil) match {
        case Seq(one) => Some(one)
        case Nil => None
        case several => NotWritten.refuse(
            s"rows that several tables have: ${several.mkString(", ")}",
            s"Say which one is meant: make the DataFrame of lineage.spark.table('${several.head.replace("`", "")}').")
      }
  }

  /** None: the table is gone, or cannot be read, which is nothing to rows of others. */
  private def analyzed(name: String): Option[LogicalPlan] =
    try Some(session.sessionState.executePlan(UnresolvedRelation(parser.parseMultipartIdentifier(name))).analyzed)
    catch { case _: AnalysisException => None }

  /** Without the names around it, and the projection of a view to its own columns. */
  private def bare(plan: LogicalPlan): LogicalPlan = plan match {
    case SubqueryAlias(_, child) => bare(child)
    case view: View => bare(view.child)
    case Project(list, child) if list.map(_.exprId) == child.output.map(_.exprId) => bare(child)
    case other => other
  }
}

private object NamesInPlans {

  /** What two relations have in common if they have the same rows: files may be named in several ways. */
  def key(leaf: LogicalPlan): Any = leaf match {
    case RelationOf(files: HadoopFsRelation, _) =>
      PlanKeys.filesOf(files)
    case other => other.canonicalized
  }
}
