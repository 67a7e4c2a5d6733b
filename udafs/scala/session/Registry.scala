package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.expressions.{Cast, Expression}
import org.apache.spark.sql.types._

import Sessions.SparkSession

/** All functions in one table: `attach`, the extension and DESCRIBE FUNCTION read it. */
object Registry {
  private val functions: Seq[SqlFunction] = Seq(
    SqlFunction(
      "dlunion",
      Some(1),
      arguments => DlUnion(widened(arguments.head, LongType), Encoding.current),
      classOf[DlUnion],
      "agg_funcs",
      "_FUNC_(expr) - Returns the union of the row ids (BIGINT) or lineage values (BINARY) of a group, as a lineage value. " +
        "NULLs are ignored; a group without any has the empty lineage.",
      """      > SELECT dl_ids(_FUNC_(id)) FROM VALUES (3L), (1L), (3L) AS t(id);
        |       [1,3]
        |""".stripMargin),
    SqlFunction(
      "dl_union",
      None,
      arguments => DlUnionAll(arguments.map(widened(_, LongType)), Encoding.current),
      classOf[DlUnionAll],
      "misc_funcs",
      "_FUNC_(expr, ...) - Returns the union of row ids (BIGINT), lineage values (BINARY) and arrays of either as a lineage " +
        "value. NULL counts as the empty set.",
      """      > SELECT dl_ids(_FUNC_(dl_of(7), 3, NULL));
        |       [3,7]
        |""".stripMargin),
    SqlFunction(
      "dl_of",
      Some(1),
      arguments => DlOf(widened(arguments.head, LongType), Encoding.current),
      classOf[DlOf],
      "misc_funcs",
      "_FUNC_(id) - Returns the lineage value {id}; the empty one for NULL.",
      """      > SELECT dl_ids(_FUNC_(7));
        |       [7]
        |""".stripMargin),
    SqlFunction(
      "dl_size",
      Some(1),
      arguments => DlSize(widened(arguments.head, BinaryType)),
      classOf[DlSize],
      "misc_funcs",
      "_FUNC_(dl) - Returns the number of row ids in the lineage value `dl`.",
      """      > SELECT _FUNC_(dl_union(7, 3, 7));
        |       2
        |""".stripMargin),
    SqlFunction(
      "dl_ids",
      Some(1),
      arguments => DlIds(widened(arguments.head, BinaryType)),
      classOf[DlIds],
      "misc_funcs",
      "_FUNC_(dl) - Returns the row ids of the lineage value `dl` as an array, ascending.",
      """      > SELECT _FUNC_(dl_union(7, 3, 7));
        |       [3,7]
        |""".stripMargin),
    SqlFunction(
      "dl_contains",
      Some(2),
      arguments => DlAmong.contains(widened(arguments.head, BinaryType), widened(arguments(1), LongType)),
      classOf[DlContains],
      "misc_funcs",
      "_FUNC_(dl, id) - Returns whether the row id is in the lineage value `dl`.",
      """      > SELECT _FUNC_(dl_union(7, 3), 3);
        |       true
        |""".stripMargin),
    SqlFunction(
      "dl_intersects",
      Some(2),
      arguments => DlIntersects(widened(arguments.head, BinaryType), widened(arguments(1), BinaryType)),
      classOf[DlIntersects],
      "misc_funcs",
      "_FUNC_(a, b) - Returns whether two lineage values share a row id.",
      """      > SELECT _FUNC_(dl_union(7, 3), dl_of(3));
        |       true
        |""".stripMargin),
    SqlFunction(
      "dl_number",
      None,
      arguments => DlNumber(arguments.map(widened(_, LongType))),
      classOf[DlNumber],
      "misc_funcs",
      "_FUNC_(expr, ...) - Returns a number for a row, computed from its lineage alone: row ids (BIGINT) and lineage values.",
      """      > SELECT _FUNC_(7, dl_of(3)) = _FUNC_(7, dl_union(3, 3));
        |       true
        |""".stripMargin),
    SqlFunction(
      "dl_frame",
      Some(5),
      arguments => DlFrame(arguments.map(widened(_, LongType))),
      classOf[DlFrame],
      "misc_funcs",
      "_FUNC_(partition, place, last, size, content) - Returns what a window frame is to a row, for dl_relation: the number " +
        "of the partition, the row's place in it from 1, the place of the frame's last row, the frame's number of rows, and a " +
        "sum of hashes of them.",
      """      > SELECT octet_length(_FUNC_(1, 3, 3, 2, 0));
        |       28
        |""".stripMargin),
    SqlFunction(
      "dl_relation",
      None,
      arguments => DlRelation(arguments.map(widened(_, LongType))),
      classOf[DlRelation],
      "agg_funcs",
      "_FUNC_(number, expr, frame, ...) - Returns the rows of a group as a lineage relation, for dl_compose in the same " +
        "query: row ids (BIGINT) or lineage values (BINARY) by number, and the frames of the windows over them.",
      """      > SELECT dl_ids(dl_compose(2, _FUNC_(n, id))) FROM VALUES (1L, 10L), (2L, 20L) AS t(n, id);
        |       [20]
        |""".stripMargin),
    SqlFunction(
      "dl_compose",
      Some(2),
      arguments => DlCompose(widened(arguments.head, LongType), widened(arguments(1), BinaryType), Encoding.current),
      classOf[DlCompose],
      "misc_funcs",
      "_FUNC_(dl, relation) - Returns the union of the lineage of the rows of a lineage relation whose numbers are in `dl`, " +
        "a number (BIGINT) or a lineage value. NULL counts as the empty set.",
      """      > SELECT dl_ids(_FUNC_(dl_union(1, 2), dl_relation(n, id))) FROM VALUES (1L, 10L), (2L, 20L) AS t(n, id);
        |       [10,20]
        |""".stripMargin),
    SqlFunction(
      "dl_quick",
      Some(1),
      arguments => QuickValues(arguments.head),
      classOf[DlUnion],
      "misc_funcs",
      "_FUNC_(expr) - Returns `expr`, a lineage value that is read once, soon: what makes it takes the encoding that is made and " +
        "read in the least time, not the shortest one.",
      """      > SELECT dl_ids(_FUNC_(dlunion(id))) FROM VALUES (3L), (1L), (3L) AS t(id);
        |       [1,3]
        |""".stripMargin),
    SqlFunction(
      "dl_intersection",
      Some(2),
      arguments => DlIntersection(widened(arguments.head, BinaryType), widened(arguments(1), BinaryType), Encoding.current),
      classOf[DlIntersection],
      "misc_funcs",
      "_FUNC_(a, b) - Returns the row ids that are in both of two lineage values.",
      """      > SELECT dl_ids(_FUNC_(dl_union(7, 3), dl_union(3, 9)));
        |       [3]
        |""".stripMargin),
    SqlFunction(
      "dl_stored",
      None,
      arguments => StoredLineage.read(counted("dl_stored", arguments, 3, 4)),
      classOf[DlStored],
      "misc_funcs",
      "_FUNC_(dl, table, check[, gone]) - Returns the lineage value that a table keeps beside a row. Refused where the table means " +
        "something else by it than `check` says, where it is NULL, and where it has ids in the ranges `gone`.",
      """      > SELECT dl_ids(_FUNC_(DL.base, 'totals', '3f2a0c91b7e54d68')) FROM totals;
        |       [3,7]
        |""".stripMargin),
    SqlFunction(
      "dl_into",
      Some(3),
      StoredLineage.written,
      classOf[DlStored],
      "misc_funcs",
      "_FUNC_(lineage, table, check) - Returns `lineage`, the column DL of rows to be inserted into a table. Refused where the " +
        "table means something else by it than `check` says.",
      """      > INSERT INTO totals SELECT k, _FUNC_(named_struct('base', dl_of(k)), 'totals', '3f2a0c91b7e54d68') FROM base;
        |""".stripMargin),
    SqlFunction(
      "dl_granule",
      Some(4),
      arguments => DlGranule(
        arguments.head,
        OwnIds.typed(arguments(1), "dl_granule"),
        OwnIds.bound(widened(arguments(2), LongType), "dl_granule"),
        OwnIds.bound(widened(arguments(3), LongType), "dl_granule")),
      classOf[DlGranule],
      "misc_funcs",
      "_FUNC_(value, type, least, most) - Returns the id of a granule of one value, which is an integer from `least` to " +
        "`most` by its type: 0 for NULL, 1 for the least value, and so on in the order of the values.",
      """      > SELECT _FUNC_(DATE '1970-01-03', 'DATE', 0, 99);
        |       3
        |""".stripMargin),
    SqlFunction(
      "dl_granule_value",
      Some(3),
      arguments => DlGranuleValue(
        widened(arguments.head, LongType),
        OwnIds.typed(arguments(1), "dl_granule_value"),
        OwnIds.bound(widened(arguments(2), LongType), "dl_granule_value")),
      classOf[DlGranuleValue],
      "misc_funcs",
      "_FUNC_(id, type, least) - Returns the value to which dl_granule gives this id, NULL for 0.",
      """      > SELECT _FUNC_(3, 'DATE', 0);
        |       1970-01-03
        |""".stripMargin),
    SqlFunction(
      "dl_row_granule",
      Some(2),
      arguments => DlRowGranule(widened(arguments.head, LongType), RowGranules.of(arguments(1))),
      classOf[DlRowGranule],
      "misc_funcs",
      "_FUNC_(id, file) - Returns the id of the granule of the row that has an id, from a file of them.",
      """      > SELECT _FUNC_(7, '/home/granules');
        |       2
        |""".stripMargin),
    SqlFunction(
      "dl_listed",
      Some(2),
      arguments => DlListed(arguments.head, Listed.values(arguments(1), "dl_listed")),
      classOf[DlListed],
      "misc_funcs",
      "_FUNC_(value, list) - Returns the place of a STRING in a list (BINARY: each value behind its length in 4 bytes), " +
        "counted from 1; 0 for NULL.",
      """      > SELECT _FUNC_('b', X'00000001610000000162');
        |       2
        |""".stripMargin),
    SqlFunction(
      "dl_listed_value",
      Some(2),
      arguments => DlListedValue(widened(arguments.head, LongType), Listed.values(arguments(1), "dl_listed_value")),
      classOf[DlListedValue],
      "misc_funcs",
      "_FUNC_(place, list) - Returns the value to which dl_listed gives this place, NULL for 0.",
      """      > SELECT _FUNC_(2, X'00000001610000000162');
        |       b
        |""".stripMargin),
    SqlFunction(
      "dl_fragment",
      Some(2),
      arguments => DlFragment(arguments.head, Bounds.of(arguments(1), "dl_fragment")),
      classOf[DlFragment],
      "misc_funcs",
      "_FUNC_(value, bounds) - Returns which range of a column a value is in: 0 for NULL, else 1 and how many bounds (BINARY: " +
        "packed) are at or before it.",
      """      > SELECT _FUNC_(7, X'6C789C636000035600000D0006');
        |       2
        |""".stripMargin),
    SqlFunction(
      "dl_range",
      Some(3),
      arguments => DlRange(widened(arguments.head, LongType), Bounds.of(arguments(1), "dl_range"), DlRange.typed(arguments(2))),
      classOf[DlRange],
      "misc_funcs",
      "_FUNC_(fragment, bounds, type) - Returns the range to which dl_fragment gives a number, NULL for 0.",
      """      > SELECT _FUNC_(2, X'6C789C636000035600000D0006', 'BIGINT').from;
        |       5
        |""".stripMargin),
    SqlFunction(
      "dl_in_ranges",
      Some(3),
      arguments => DlInRanges(
        arguments.head,
        new RangeSet(Bounds.bytes(arguments(1), "dl_in_ranges"), Bounds.bytes(arguments(2), "dl_in_ranges"))),
      classOf[DlInRanges],
      "misc_funcs",
      "_FUNC_(value, bounds, fragments) - Returns whether dl_fragment(value, bounds) is among some fragments (BINARY: two bytes " +
        "each).",
      """      > SELECT _FUNC_(7, X'6C789C636000035600000D0006', X'0002');
        |       true
        |""".stripMargin),
    SqlFunction(
      "dl_row_id",
      Some(2),
      arguments => RowPosition(arguments.head, arguments(1)),
      classOf[RowPosition],
      "misc_funcs",
      "_FUNC_(manifest, _metadata) - Returns the row id of a Parquet row by its position in the registered files of its table.",
      """      > SELECT _FUNC_('lineage_home/tables/events/1.json', _metadata) FROM events;
        |       0
        |""".stripMargin),
    SqlFunction(
      "dl_nearest",
      Some(2),
      arguments => DlNearest(arguments.head, arguments(1)),
      classOf[DlNearest],
      "agg_funcs",
      "_FUNC_(row, distance) - Returns the row of a group whose distance is the least, as min_by does: its lineage is that row's alone.",
      """      > SELECT _FUNC_(named_struct('id', id), abs(id - 4)).id FROM VALUES (1L), (3L), (9L) AS t(id);
        |       3
        |""".stripMargin),
    SqlFunction(
      "dl_may_occur",
      None,
      DlMayOccur.of,
      classOf[DlMayOccur],
      "predicate_funcs",
      "_FUNC_(filter, value, ...) - Returns whether a tuple of values may occur in the version of a table that a filter is of: " +
        "`false` is proven. `filter` is the path of lineage.membership(...), with a value for each of its columns; NULL stands for any.",
      """      > SELECT * FROM probes WHERE _FUNC_('lineage_home/filters/3f2a0c91b7e54d68/1c9e', hour, origin);
        |""".stripMargin),
    SqlFunction(
      "dl_may_be_in",
      None,
      DlMayBeIn.of,
      classOf[DlMayBeIn],
      "predicate_funcs",
      "_FUNC_(filter, _metadata, value, ...) - Returns whether a tuple of values may occur in a file: `false` is proven, and a " +
        "file that the filter does not know, or that has changed, may have any.",
      """      > SELECT * FROM flights WHERE origin = 'LAX' AND _FUNC_('lineage_home/filters/3f2a0c91b7e54d68/1c9e', _metadata, NULL, 'LAX');
        |""".stripMargin),
    SqlFunction(
      "dl_encoding",
      Some(1),
      arguments => DlEncoding(widened(arguments.head, BinaryType)),
      classOf[DlEncoding],
      "misc_funcs",
      "_FUNC_(dl) - Returns the encoding of the lineage value `dl`: set, bdd or roaring.",
      """      > SELECT _FUNC_(dl_of(7));
        |       set
        |""".stripMargin)) ++ ComparedFunctions.all ++ VersionFunctions.all

  private def counted(function: String, arguments: Seq[Expression], least: Int, most: Int): Seq[Expression] =
    if (least <= arguments.size && arguments.size <= most) arguments
    else LineageErrors.refuse(s"$function takes $least to $most arguments, not ${arguments.size}.")

  /** TINYINT, SMALLINT, INT become BIGINT, an untyped NULL becomes `nullType`; the rest stays and is checked later. */
  private def widened(argument: Expression, nullType: DataType): Expression = argument.dataType match {
    case ByteType | ShortType | IntegerType => Cast(argument, LongType)
    case NullType => Cast(argument, nullType)
    case _ => argument
  }

  /** Registers every function in a running session; harmless when done before. */
  def attach(session: SparkSession): Unit = {
    CteIds.apart()
    val registry = session.sessionState.functionRegistry
    for (function <- functions) {
      val name = SessionFunctions.identifier(function.name)
      // Spark warns of each function that takes the place of another, were it the same.
      if (!registry.lookupFunction(name).exists(_.getClassName == function.info.getClassName))
        registry.registerFunction(name, function.info, function.builder)
    }
    val files = SessionFunctions.identifier(NamedFiles.info.getName)
    if (session.sessionState.tableFunctionRegistry.lookupFunction(files).isEmpty)
      session.sessionState.tableFunctionRegistry.registerFunction(files, NamedFiles.info, NamedFiles(_))
    PlanRules.attach(session)
  }

  def inject(extensions: SparkSessionExtensions): Unit = {
    CteIds.apart()
    for (function <- functions)
      extensions.injectFunction((FunctionIdentifier(function.name), function.info, function.builder))
    extensions.injectTableFunction((FunctionIdentifier(NamedFiles.info.getName), NamedFiles.info, NamedFiles(_)))
    PlanRules.inject(extensions)
  }
}
