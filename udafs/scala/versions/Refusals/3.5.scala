package org.apache.spark.sql.forwardlineage

import org.apache.spark.{QueryContext, SparkRuntimeException}

/** What the kernel throws: 3.5 has no such name yet, but one whose text is what it is given, which Python's side knows. */
private[forwardlineage] object Refusals {
  val Name = "_LEGACY_ERROR_TEMP_1332"

  def of(message: String): Exception =
    new SparkRuntimeException(Name, Map("errorMessage" -> message), null, Array.empty[QueryContext], "")
}
