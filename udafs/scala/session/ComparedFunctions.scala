package org.apache.spark.sql.forwardlineage

/** What conditions are written with that are asked elsewhere than the user has written them. */
private object ComparedFunctions {
  val all: Seq[SqlFunction] = Seq(
    SqlFunction(
      "dl_alike",
      Some(2),
      arguments => DlAlike(arguments.head, arguments(1)),
      classOf[DlAlike],
      "misc_funcs",
      "_FUNC_(key, value) - Returns true; refused where the types are such that several different keys may equal one value.",
      """      > SELECT _FUNC_(7, 7L);
        |       true
        |""".stripMargin),
    SqlFunction(
      "dl_moved",
      Some(1),
      arguments => DlMoved(arguments.head),
      classOf[DlMoved],
      "misc_funcs",
      "_FUNC_(column) - Returns the column, to be compared elsewhere; refused where it is of type CHAR, which Spark pads only " +
        "where it sees columns compared.",
      """      > SELECT _FUNC_(n) FROM VALUES (7) AS t(n);
        |       7
        |""".stripMargin))
}
