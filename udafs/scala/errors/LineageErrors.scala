package org.apache.spark.sql.forwardlineage

import org.apache.spark.SparkRuntimeException

/** Every error a lineage function raises while a query runs. */
object LineageErrors {

  /** The bytes are not a lineage value; the keyword is one of FORMAT.md, `at` the byte offset. */
  def corrupt(keyword: String, what: String, at: Int): Nothing =
    refuse(s"corrupt lineage value: $keyword: $what (byte $at). It was not written by a dl_* function, or was damaged.")

  def negativeId(id: Long): Nothing =
    refuse(s"row id $id is negative. Row ids are integers in 0 .. 2^63-1.")

  def tooLarge(what: String): Nothing = refuse(what)

  /** A condition of Spark's own, so that drivers and Python read what a task threw without any class of ours. */
  def refuse(message: String): Nothing =
    throw new SparkRuntimeException("USER_RAISED_EXCEPTION", Map("errorMessage" -> message), null, Array.empty, "")
}
