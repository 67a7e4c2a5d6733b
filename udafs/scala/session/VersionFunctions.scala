package org.apache.spark.sql.forwardlineage

/** Functions for what SQL says itself in other versions of Spark: none from 4.0 on. */
private object VersionFunctions {
  val all: Seq[SqlFunction] = Seq(
    StarExcept.function.map(build => SqlFunction(
      "dl_star_except",
      None,
      build, StarExcept.getClass,
      "misc_funcs",
      "_FUNC_(star, column, ...) - Stands for the columns of a star but for some, all of them string literals.",
      """      > SELECT _FUNC_('t.*', 'b') FROM VALUES (1, 2) AS t(a, b);
        |       1
        |""".stripMargin)),
    CalendarIntervals.function.map(build => SqlFunction(
      "dl_calendar_interval",
      Some(1),
      build, CalendarIntervals.getClass,
      "misc_funcs",
      "_FUNC_(text) - Returns the interval that a string literal says, as session_window of a DataFrame has it.",
      """      > SELECT _FUNC_('11 minutes');
        |       11 minutes
        |""".stripMargin))).flatten
}
