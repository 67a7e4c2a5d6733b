package org.apache.spark.sql.forwardlineage

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicLong

import org.apache.spark.SparkContext

import Sessions.{Dataset, SparkSession}

/**
 * Where Python finds what is asked, and puts its answers: the entry point of the gateway. It calls what is public here, by name.
 *
 * An answer to what nobody waits for any more (it took too long, or was cancelled) is dropped.
 */
final class Desk private[sql] (val context: SparkContext) {
  private val open = new ConcurrentHashMap[Long, Asked]
  private val numbers = new AtomicLong
  @volatile private[sql] var greeted = false

  private[sql] def put(asked: Asked): Long = {
    val number = numbers.incrementAndGet()
    open.put(number, asked)
    number
  }

  private[sql] def remove(number: Long): Unit = open.remove(number)

  /** Let those who wait know that there will be no answer. */
  private[sql] def close(reason: Throwable): Unit = open.values.forEach(_.answer.completeExceptionally(reason))

  /** Python is there, and has this Spark. */
  def greet(): Unit = greeted = true

  /** The session of a statement, active in this thread from now on, whose texts are for Spark alone; null if nobody waits. */
  def enter(number: Long): SparkSession = {
    val session = Option(open.get(number)).map(_.session).orNull
    PlainText.alwaysGiven()
    if (session != null) SparkSession.setActiveSession(session)
    session
  }

  /** What new threads have as long as nobody says otherwise; null if there is none. Making PySpark's first session changes it. */
  def defaultSession(): SparkSession = SparkSession.getDefaultSession.orNull

  def setDefaultSession(session: SparkSession): Unit =
    if (session == null) SparkSession.clearDefaultSession() else SparkSession.setDefaultSession(session)

  def setActiveSession(session: SparkSession): Unit = SparkSession.setActiveSession(session)

  def text(number: Long, sql: String): Unit = answer(number, ToRun(sql))
  def rows(number: Long, frame: Dataset[_]): Unit = answer(number, Analysed(frame.queryExecution.analyzed))
  def refuse(number: Long, message: String): Unit = answer(number, NotTraced(message))
  def notAsked(number: Long): Unit = answer(number, NotAsked)

  private def answer(number: Long, found: Answer): Unit = Option(open.get(number)).foreach(_.answer.complete(found))
}
