package org.apache.spark.sql.forwardlineage

/** What has no SQL text: `what` it is, and what to do `instead`. */
final private[sql] class NotWritten(val what: String, val instead: String) extends Exception(what)

private[sql] object NotWritten {
  private val Names = Map(
    "NearestByJoin" -> "nearestByJoin",
    "AttachDistributedSequence" -> "zipWithIndex, which numbers rows as they come",
    "UnionLoop" -> "WITH RECURSIVE with a number of rows at most",
    "MapInPandas" -> "mapInPandas",
    "MapInArrow" -> "mapInArrow",
    "FlatMapGroupsInPandas" -> "applyInPandas",
    "FlatMapGroupsInArrow" -> "applyInArrow",
    "FlatMapCoGroupsInPandas" -> "cogroup(…).applyInPandas",
    "FlatMapCoGroupsInArrow" -> "cogroup(…).applyInArrow",
    "ScriptTransformation" -> "TRANSFORM with a script",
    "SerializeFromObject" -> "a typed operation of Scala")

  def refuse(what: String, instead: String): Nothing = throw new NotWritten(what, instead)

  /** What users call an operator of a plan. */
  def called(operator: String): String = Names.getOrElse(operator, operator)
}
