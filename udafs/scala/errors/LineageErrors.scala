package org.apache.spark.sql.forwardlineage

/** Every error a lineage function raises while a query runs. */
object LineageErrors {

  /** The bytes are not a lineage value; the keyword is one of FORMAT.md, `at` the byte offset. */
  def corrupt(keyword: String, what: String, at: Int): Nothing =
    refuse(s"corrupt lineage value: $keyword: $what (byte $at). It was not written by a dl_* function, or was damaged.")

  def negativeId(id: Long): Nothing =
    refuse(s"row id $id is negative. Row ids are integers in 0 .. 2^63-1.")

  def tooLarge(what: String): Nothing = refuse(what)

  def refuse(message: String): Nothing = throw Refusals.of(message)
}
