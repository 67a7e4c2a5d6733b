package org.apache.spark.sql.forwardlineage

/** What has no SQL text: `what` it is, and what to do `instead`. */
final private[sql] class NotWritten(val what: String, val instead: String) extends Exception(what)

private[sql] object NotWritten {
  def refuse(what: String, instead: String): Nothing = throw new NotWritten(what, instead)
}
