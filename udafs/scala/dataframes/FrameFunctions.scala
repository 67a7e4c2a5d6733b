package org.apache.spark.sql.forwardlineage

import java.util.Base64

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.types.BinaryType
import org.json4s.{JArray, JBool, JInt, JObject, JString, JValue}
import org.json4s.jackson.JsonMethods.compact

import Sessions.{Dataset, SparkSession}

/**
 * Where functions of Python's stand in a plan, those above all others first: each is a cut. What it is given is traced by itself; then a
 * function of ours runs in its place, which hands lineage on; and the SQL of what stands above reads its rows by a name.
 */
private[sql] object FrameFunctions {

  /** As JSON: `found`, what is known of each; or `what` has no text, and what to do `instead`. */
  def facts(session: SparkSession, frame: Dataset[_], registered: Seq[String]): String = session.withActive {
    val answer: Seq[(String, JValue)] =
      try Seq("found" -> JArray(in(session, frame, registered).map(each => described(checked(each))).toList))
      catch { case refused: NotWritten => Seq("what" -> JString(refused.what), "instead" -> JString(refused.instead)) }
    compact(JObject(answer.toList))
  }

  /** The rows that one is given, as a query that can be traced. */
  def input(session: SparkSession, frame: Dataset[_], registered: Seq[String], number: Int, input: Int): Dataset[Row] =
    Dataset.ofRows(session, in(session, frame, registered)(number).inputs(input).numbered)

  /** Its own rows, as they are; their columns are called by number. */
  def rows(session: SparkSession, frame: Dataset[_], registered: Seq[String], number: Int): Dataset[Row] = {
    val operator = in(session, frame, registered)(number).operator
    Dataset.ofRows(session, Project(GivenRows.numbered(operator.output), operator))
  }

  /** Its rows by a function of ours, over rows that were traced; behind them a set of each of so many tables. */
  def traced(
      session: SparkSession,
      frame: Dataset[_],
      inputs: Seq[Dataset[_]],
      registered: Seq[String],
      number: Int,
      tables: Int,
      command: Array[Byte]): Dataset[Row] = {
    val found = in(session, frame, registered)(number)
    val given = found.inputs.zip(inputs).map { case (input, rows) => input.over(rows.queryExecution.analyzed) }
    val sets = (0 until tables).map(place => AttributeReference(GivenRows.hidden(place), BinaryType)())
    val operator = found.instead(given, command, sets)
    val (users, lineage) = operator.output.splitAt(found.operator.output.size)
    Dataset.ofRows(session, Project(GivenRows.numbered(users) ++ lineage.map(each => Alias(LastGiven(each), each.name)()), operator))
  }

  private def in(session: SparkSession, frame: Dataset[_], registered: Seq[String]): Seq[FrameFunction] =
    FrameFunction.in(frame.queryExecution.analyzed, new NamesInPlans(session, registered).of)

  private def checked(found: FrameFunction): FrameFunction = {
    if (found.inputs.exists(_.base.output.exists(each => StoredLineage.isLineage(each.name, each.dataType)))) {
      NotWritten.refuse(
        s"${found.called} over rows with ${StoredLineage.Column}, the lineage of its rows, which the function would be given",
        s"Leave it out: drop('${StoredLineage.Column}') before, of a table; or make the DataFrame of what the rows were made of.")
    }
    found
  }

  private def described(found: FrameFunction): JValue = JObject(
    "called" -> JString(found.called),
    "kind" -> JString(found.kind),
    "name" -> JString(found.call.name),
    "command" -> JString(Base64.getEncoder.encodeToString(found.call.func.command.toArray)),
    "eval type" -> JInt(found.call.evalType),
    "deterministic" -> JBool(found.call.udfDeterministic),
    "schema" -> JString(found.operator.schema.json),
    "inputs" -> JArray(found.inputs.zipWithIndex.map { case (input, number) => described(input, found.keys(number)) }.toList))

  private def described(input: FunctionInput, keys: Int): JValue = JObject(
    "columns" -> JInt(input.base.output.size - keys),
    "keys" -> JInt(keys),
    "spread below" -> JBool(input.isSpreadBelow))
}
