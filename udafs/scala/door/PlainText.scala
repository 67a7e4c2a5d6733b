package org.apache.spark.sql.forwardlineage

/** Texts that are meant for Spark alone, whatever stands in them: they come from the rules, and must not go back to them. */
private[sql] object PlainText {
  private val here = new ThreadLocal[Boolean]

  /** Whether this thread hands such texts to Spark's parser. */
  def isGiven: Boolean = here.get

  /** Around what does. */
  def given[T](block: => T): T = {
    val before = here.get
    here.set(true)
    try block finally here.set(before)
  }

  /** For a thread that does nothing else. */
  def alwaysGiven(): Unit = here.set(true)
}
