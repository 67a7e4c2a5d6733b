package org.apache.spark.sql.forwardlineage

import java.lang.reflect.{InvocationHandler, InvocationTargetException, Method, Proxy}
import java.util.regex.Pattern

import org.apache.spark.sql
import org.apache.spark.sql.catalyst.parser.{ParseException, ParserInterface}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

import Sessions.SparkSession

/**
 * Spark's parser, but for statements that ask for lineage: … LINEAGE ON …, … WITH LINEAGE.
 *
 * Whatever Spark reads itself means what it means to Spark: only text that its parser refuses is looked at, and only if both
 * words stand in it. Whether they ask for lineage, and what is run then, is answered in Python, where the rules are (`Door`).
 */
object LineageParser {
  private val Gap = """(?:\s|--[^\n]*\n|/\*.*?\*/)+"""
  private val Asking = Pattern.compile(
    s"""\\bLINEAGE${Gap}ON\\b|\\bWITH${Gap}LINEAGE\\b""", Pattern.CASE_INSENSITIVE | Pattern.DOTALL)

  /**
   * A proxy, since each version of Spark has other methods in this interface: those that a class did not hand on would be the interface's
   * defaults, not those of the parser below, which may be another extension's.
   */
  def apply(session: sql.SparkSession, below: ParserInterface): ParserInterface =
    Proxy.newProxyInstance(
      classOf[ParserInterface].getClassLoader,
      Array[Class[_]](classOf[ParserInterface]),
      new Reading(session, below)).asInstanceOf[ParserInterface]

  private final class Reading(session: sql.SparkSession, below: ParserInterface) extends InvocationHandler {
    override def invoke(proxy: AnyRef, method: Method, arguments: Array[AnyRef]): AnyRef =
      try method.invoke(below, Option(arguments).getOrElse(Array.empty[AnyRef]): _*)
      catch {
        case wrapped: InvocationTargetException =>
          (wrapped.getCause, method.getName, arguments) match {
            case (refused: ParseException, "parsePlan", Array(text: String)) if mayAsk(text) => traced(text, refused)
            case (refused: ParseException, "parsePlanWithParameters", Array(text: String, values)) if mayAsk(text) =>
              if (!hasNone(values) && asks(text)) LineageErrors.refuse(
                "values of parameters are not seen in a statement that asks for lineage here. Write them into the SQL, or use " +
                  "lineage.sql(…, args=…).")
              traced(text, refused)
            case (cause, _, _) => throw cause
          }
      }

    private def mayAsk(text: String): Boolean = !PlainText.isGiven && Asking.matcher(text).find()

    /** Whether there are no values of parameters: a case class of a list or a map, which older versions do not have. */
    private def hasNone(values: AnyRef): Boolean = values match {
      case all: Product => all.productIterator.forall { case some: Iterable[_] => some.isEmpty; case _ => false }
      case _ => false
    }

    private def asks(text: String): Boolean = Door.ask(session.asInstanceOf[SparkSession], text, onlyWhether = true) != NotAsked

    private def traced(text: String, refused: ParseException): LogicalPlan =
      Door.ask(session.asInstanceOf[SparkSession], text, onlyWhether = false) match {
        case ToRun(sql) => below.parsePlan(sql)
        case Analysed(plan) => plan
        case NotTraced(message) => LineageErrors.refuse(message)
        case NotAsked => throw refused
      }
  }
}
