package org.apache.spark.sql.forwardlineage

import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.TimeoutException

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerApplicationEnd}

import Sessions.SparkSession

/** Statements on their way to Python: one process for the application, begun when the first is asked, and begun again if it dies. */
private[sql] object Door {
  private val Seconds = "spark.forward_lineage.timeout"
  private val Python = "spark.forward_lineage.python"
  private var current: Option[(SparkContext, PythonProcess)] = None
  private var watched: Option[SparkContext] = None

  /** What is to be run in place of a statement; `onlyWhether`: whether it asks for lineage, anything but NotAsked standing for yes. */
  def ask(session: SparkSession, text: String, onlyWhether: Boolean): Answer = {
    if (new String(text.getBytes(UTF_8), UTF_8) != text)
      LineageErrors.refuse("half of a character, which no text holds. Correct the text.")
    val seconds = session.sparkContext.getConf.getTimeAsSeconds(Seconds, "600s")
    var died = 0
    while (true) {
      var greeted = false
      try {
        val python = running(session.sparkContext)
        greeted = python.greeted
        try return python.ask(new Asked(session, text, onlyWhether), seconds)
        finally greeted ||= python.greeted
      } catch {
        case ended: PythonEnded =>
          died += 1
          if (!greeted) LineageErrors.refuse(notStarted(ended))
          if (died > 1) LineageErrors.refuse(
            s"the Python process that traces statements ended twice while it read this one: ${ended.said}. Please report it, with the statement.")
        case _: TimeoutException =>
          LineageErrors.refuse(
            s"tracing this statement took more than $seconds s, and was given up. Set $Seconds, as in 1800s, when the application starts.")
      }
    }
    NotAsked // not reached
  }

  private def notStarted(ended: PythonEnded): String =
    s"the Python process that traces statements did not start: ${ended.said}. Start the application with $Python, the path of an " +
      "interpreter (3.11 or newer) that has forward_lineage and this Spark's PySpark."

  private def running(context: SparkContext): PythonProcess = synchronized {
    val python = current.collect { case (of, python) if (of eq context) && python.isAlive => python }.getOrElse {
      current.foreach(_._2.close())
      current = None
      new PythonProcess(context)
    }
    current = Some((context, python))
    if (!watched.exists(_ eq context)) {
      context.addSparkListener(new SparkListener {
        override def onApplicationEnd(end: SparkListenerApplicationEnd): Unit = close(context)
      })
      watched = Some(context)
    }
    python
  }

  private def close(context: SparkContext): Unit = synchronized {
    current.filter(_._1 eq context).foreach(_._2.close())
    current = current.filterNot(_._1 eq context)
    watched = watched.filterNot(_ eq context)
  }
}
