package org.apache.spark.sql.forwardlineage

import org.apache.spark.SparkRuntimeException

/** What the kernel throws, under a name of Spark's own, so that drivers and Python read what a task threw without any class of ours. */
private[forwardlineage] object Refusals {
  val Name = "USER_RAISED_EXCEPTION"

  def of(message: String): Exception =
    new SparkRuntimeException(Name, Map("errorMessage" -> message), null, Array.empty, "")
}
