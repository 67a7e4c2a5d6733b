package org.apache.spark.sql.forwardlineage

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.sql.{Dataset => AnyDataset, Row}
import org.json4s.{JArray, JObject, JString, JValue}
import org.json4s.JsonAST.JNull
import org.json4s.jackson.JsonMethods.compact

import org.apache.spark.sql.types.{DataType, StructType}

import Sessions.{Dataset, SparkSession}

/**
 * All that Python asks of the kernel, by name, with arguments as JSON: one place for both doors, py4j and Spark Connect, so that what is
 * answered is the same.
 *
 * A class, not an object: Python makes one through the class loader of the added jar.
 */
final class Requests {
  import Requests._

  /** Answer in text, whose form is the request's own. */
  def answer(session: SparkSession, request: String): String = text(session, new Request(request), Nil)

  /** The same of a DataFrame. */
  def answer(session: SparkSession, request: String, frame: Dataset[_]): String = text(session, new Request(request), Seq(frame))

  /** Answer with a DataFrame; null where there is none. */
  def frame(session: SparkSession, request: String, frame: Dataset[Row]): Dataset[Row] =
    rows(session, new Request(request), Seq(frame))

  /** The same of two. */
  def frame(session: SparkSession, request: String, frame: Dataset[Row], other: Dataset[Row]): Dataset[Row] =
    rows(session, new Request(request), Seq(frame, other))

  /** The same of three. */
  def frame(session: SparkSession, request: String, frame: Dataset[Row], other: Dataset[Row], third: Dataset[Row]): Dataset[Row] =
    rows(session, new Request(request), Seq(frame, other, third))

  /** What is kept of a DataFrame just made from text, so that the text need not be analysed again; null where that has to be. */
  def known(session: SparkSession, frame: Dataset[Row], before: KnownQuery.Surroundings): KnownQuery = KnownQuery.of(session, frame, before)

  /** On what the meaning of a text depends now, for the DataFrame that is made from it next. */
  def surroundings(session: SparkSession): KnownQuery.Surroundings = KnownQuery.around(session)

  /** That query again, null where its text might mean something else now. */
  def again(session: SparkSession, known: KnownQuery): Dataset[Row] = known.again(session)
}

object Requests {
  private val (plans, facts, files) = (new PlanText, new PlanFacts, new TableFiles)
  private val (stored, meaning, inserts, sketches) = (new StoredView, new ViewMeaning, new Inserts, new SketchUse)

  /**
   * Requests that are answered in text; under the settings of the session that asks. Spark's parser and its expressions take those of the
   * thread's active session, which is the first one of the process until somebody says so: a cast would be ANSI's where it is not.
   */
  private[sql] def text(session: SparkSession, asked: Request, frames: Seq[Dataset[_]]): String =
    PlainText.given(session.withActive(answered(session, asked, frames)))

  private def answered(session: SparkSession, asked: Request, frames: Seq[Dataset[_]]): String = {
    def frame: Dataset[_] = frames.headOption.getOrElse(LineageErrors.refuse(s"${asked.what} needs a DataFrame."))
    asked.what match {
      case "kernel" => kernel
      case "plan" => strings(plan(session, asked, frames.headOption))
      case "facts" => strings(plans.factsOf(session, asked.string("sql")))
      case "reads alike" => SameReading(session, asked.string("sql"), asked.string("other")).toString
      case "schema" => plans.schema(session, asked.string("sql"))
      case "expression" => session.sessionState.sqlParser.parseExpression(asked.string("sql")).sql
      case "insert targets" => nested(inserts.targets(session, asked.string("sql")))
      case "settings" => compact(JObject(session.conf.getAll.toList.sorted.map { case (name, value) => name -> JString(value) }))
      case "values of settings" => compact(JObject(valuesOfSettings(session, asked)))
      case "settings as text" => session.sessionState.conf.settings.toString
      case name if name.startsWith("files ") => ofFiles(session, asked, frames.headOption)
      case name if name.startsWith("name ") => CatalogNames.answer(session, asked)
      case "make view" => stored.create(session, asked.string("name"), asked.string("query"), asked.string("text")); ""
      case "known columns" => NamedFiles.know(session, asked.string("path"), DataType.fromJson(asked.string("columns")).asInstanceOf[StructType]); ""
      case "view text" => compact(orNull(stored.text(session, asked.string("name"))))
      case "view texts" => compact(JArray(asked.lines("names").toList.map(name => orNull(stored.text(session, name)))))
      case "view settings" => nested(meaning.otherSettings(session, CatalogNames.entry(session, asked), asked.is("temporary")))
      case "view names" => nested(meaning.hiddenNames(session, CatalogNames.entry(session, asked)))
      case "unwatched" => strings(facts.unwatched(frame))
      case "unrepeatable" => strings(facts.unrepeatable(frame))
      case "ties" => strings(facts.ties(frame))
      case "files" => strings(facts.files(frame))
      case "written rows" => facts.writtenRows(frame)
      case "collections" => strings(facts.collections(frame))
      case "definition" => frame.queryExecution.analyzed.treeString
      case "last operator" => frame.queryExecution.logical.nodeName
      case "changed by" => TracedFrames.changedBy(frame.queryExecution.analyzed).getOrElse("")
      case "sql of" => FrameSql.of(session, frame, asked.lines("registered"), asked.lines("given"))
      case "frame functions" => FrameFunctions.facts(session, frame, asked.lines("registered"))
      case "reads otherwise" => FrameSql.difference(session, frame, asked.string("sql"))
      case "runs as asked" => RunsAsAsked.difference(session, asked.string("sql"), frame.asInstanceOf[Dataset[Row]])
      case "size" => frame.queryExecution.optimizedPlan.stats.sizeInBytes.toString
      case "size read" => frame.queryExecution.optimizedPlan.collectLeaves().map(_.stats.sizeInBytes).sum.toString
      case "skipped" =>
        val found = sketches.skipped(frame.asInstanceOf[Dataset[Row]], asked.string("column"), asked.bytes("bounds"), asked.bytes("fragments"))
        strings(found.map(_.toString))
      case other => LineageErrors.refuse(s"The kernel knows no request $other.")
    }
  }

  /** Requests that are answered with a DataFrame, under the settings of the session; null where there is none. */
  private[sql] def rows(session: SparkSession, asked: Request, frames: Seq[Dataset[Row]]): Dataset[Row] =
    PlainText.given(session.withActive(made(session, asked, frames)))

  private def made(session: SparkSession, asked: Request, frames: Seq[Dataset[Row]]): Dataset[Row] =
    asked.what match {
      case "as it is" => StagedQuery.around(frames.head)
      case "describing the last column" => AnalysedFrames.describingLast(frames.head, asked.string("metadata"))
      case "collected" => session.createDataFrame(frames.head.collectAsList(), frames.head.schema)
      case "with sketch" =>
        classic(sketches(frames.head, frames(1), asked.string("column"), asked.bytes("bounds"), asked.bytes("fragments")))
      case "function input" => FrameFunctions.input(session, frames.head, asked.lines("registered"), asked.number("number"), asked.number("input"))
      case "function rows" => FrameFunctions.rows(session, frames.head, asked.lines("registered"), asked.number("number"))
      case "function traced" =>
        val (registered, number, tables) = (asked.lines("registered"), asked.number("number"), asked.number("sets"))
        FrameFunctions.traced(session, frames.head, frames.tail, registered, number, tables, asked.bytes("command"))
      case other => LineageErrors.refuse(s"The kernel knows no request $other.")
    }

  private def orNull(text: String): JValue = Option(text).fold[JValue](JNull)(JString(_))

  /** Of each name what was set, null where nothing was; of those in `anyhow` what Spark says then. */
  private def valuesOfSettings(session: SparkSession, asked: Request): List[(String, JValue)] = {
    val anyhow = asked.lines("anyhow").toSet
    val conf = session.sessionState.conf
    asked.lines("names").toList.map { name =>
      name -> orNull(if (anyhow(name)) conf.getConfString(name) else conf.getConfString(name, null))
    }
  }

  private def classic(frame: AnyDataset[Row]): Dataset[Row] = frame.asInstanceOf[Dataset[Row]]

  /** Which sources this was made from, see `udafs/build.py`; empty where nobody said. */
  private def kernel: String = {
    val stream = getClass.getResourceAsStream("/forwardlineage/sources")
    if (stream == null) "" else try new String(stream.readAllBytes(), UTF_8) finally stream.close()
  }

  private def plan(session: SparkSession, asked: Request, bound: Option[Dataset[_]]): Array[String] =
    (bound, asked.is("traced"), asked.is("through")) match {
      case (Some(query), _, true) => plans.ofThrough(session, query.queryExecution.logical)
      case (Some(query), _, false) => plans.of(session, query.queryExecution.analyzed)
      case (None, true, true) => plans.ofTracedThrough(session, asked.string("sql"))
      case (None, true, false) => plans.ofTraced(session, asked.string("sql"))
      case (None, false, true) => plans.ofThrough(session, asked.string("sql"))
      case (None, false, false) => plans.of(session, asked.string("sql"))
    }

  private def ofFiles(session: SparkSession, asked: Request, frame: Option[Dataset[_]]): String = asked.what match {
    case "files local" => files.isLocal(session).toString
    case "files qualified" => files.qualified(session, asked.string("path"))
    case "files there" => files.isThere(session, asked.string("path"))
    case "files matching" => files.matching(session, asked.string("path"))
    case "files matched" => files.matched(session, asked.string("path"))
    case "files under" => files.under(session, asked.string("path"))
    case "files some" => files.some(session, asked.string("roots"), asked.string("files"))
    case "files inside" => files.inside(session, asked.string("path"))
    case "files footers" => files.footers(session, asked.string("files"))
    case "files whole footers" => files.wholeFooters(session, asked.string("files"))
    case "files read" => files.read(session, asked.string("files"))
    case "files roots" => files.roots(frame.get)
    case "files known" => files.known(frame.get)
    case "files near" => NearFiles.under(asked.string("path"))
    case "files near some" => NearFiles.some(asked.string("files"))
    case other => LineageErrors.refuse(s"The kernel knows no request $other.")
  }

  private def strings(found: Array[String]): String = compact(array(found))

  /** Lists of lists, as deep as they are; null stays null. */
  private def nested(found: Any): String = compact(json(found))

  private def json(value: Any): JValue = value match {
    case null => JNull
    case text: String => JString(text)
    case list: Array[_] => JArray(list.toList.map(json))
    case other => JString(String.valueOf(other))
  }

  private def array(found: Array[String]): JValue = JArray(found.toList.map(JString(_)))
}
