package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.plans.logical.{Command, Except, Intersect, LogicalPlan, Project}

import Sessions.{Dataset, SparkSession}

/**
 * Whether a rewritten query, its lineage left out, computes the user's columns of what the user's text computes them of, and compares what
 * it compares; and whether it still does when Spark, and the rules of this kernel, have optimised it.
 *
 * It does not see which rows there are: joins, how often a condition is asked and of which rows, FILTER, DISTINCT, LIMIT, the order of rows.
 */
private object RunsAsAsked {
  /**
   * @param text the user's
   * @param rewritten with lineage as its last column
   * @return the first difference; "" where there is none
   */
  def difference(session: SparkSession, text: String, rewritten: Dataset[_]): String = {
    val asked = session.sessionState.executePlan(session.sessionState.sqlParser.parsePlan(text)).analyzed
    val runs = rewritten.queryExecution.analyzed
    if (asked.isInstanceOf[Command] || runs.output.size != asked.output.size + 1) ""
    else {
      val (wanted, found) = (new Meaning, new Meaning)
      val (columns, kept) = (wanted.columns(asked), found.columns(runs).init)
      (otherSource(asked, columns, kept) orElse otherComparison(wanted, found) orElse optimised(session, asked, runs, kept)).getOrElse("")
    }
  }

  private def otherSource(asked: LogicalPlan, columns: Seq[Meaning.Value], kept: Seq[Meaning.Value]): Option[String] =
    asked.output.zip(columns.zip(kept)).collectFirst {
      case (column, (one, other)) if !one.sources.subsetOf(other.sources) || one.sources != other.sources && !takesAway(asked) =>
        s"column ${column.name} is made of ${said(one)}, and of ${said(other)} as rewritten"
    }

  /** Rows of both sides are then put together, to be told apart. */
  private def takesAway(plan: LogicalPlan): Boolean = plan.collectWithSubqueries { case _: Except | _: Intersect => true }.nonEmpty

  private def otherComparison(wanted: Meaning, found: Meaning): Option[String] =
    wanted.conditions.collectFirst {
      case (digest, text) if !found.compared.contains(digest) => s"nothing compares as $text does"
    }

  /**
   * What is optimised may leave out what does not matter, and brings nothing new: columns of those that were there, and constants of those
   * or of what Spark makes of the user's text. Where a column is taken for another one, that is seen if they are made of other things.
   */
  private def optimised(session: SparkSession, asked: LogicalPlan, runs: LogicalPlan, kept: Seq[Meaning.Value]): Option[String] = {
    def columns(plan: LogicalPlan) = new Meaning(optimized = true).columns(session.sessionState.executePlan(plan).optimizedPlan)
    val (wanted, found) = (columns(asked), columns(Project(runs.output.init, runs)))
    runs.output.zip(wanted.zip(kept)).zip(found).collectFirst {
      case ((column, (_, before)), after) if !after.sources.subsetOf(before.sources) =>
        s"column ${column.name} is made of ${said(before)}, and of ${said(after)} as Spark optimises it"
      case ((column, (one, before)), after) if one.isKnown && !after.literals.subsetOf(one.literals ++ before.literals) =>
        s"column ${column.name} is not made with ${(after.literals -- one.literals -- before.literals).min} but as Spark optimises it"
    }
  }

  private def said(value: Meaning.Value): String =
    if (value.sources.isEmpty) "no column" else value.sources.toSeq.sorted.mkString(", ")
}
