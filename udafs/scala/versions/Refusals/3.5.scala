package org.apache.spark.sql.forwardlineage

import org.apache.spark.{QueryContext, SparkException}

/** What the kernel throws, under the name that Spark has for it from 4.0 on: 3.5 knows no text to go with the name. */
private[forwardlineage] object Refusals {
  private val Name = "USER_RAISED_EXCEPTION"

  def of(message: String): Exception =
    new SparkException(s"[$Name] $message", null, Some(Name), Map("errorMessage" -> message), Array.empty[QueryContext])
}
