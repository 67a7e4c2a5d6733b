package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.analysis.TempResolvedColumn
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.types.{DataType, Decimal, DecimalType, IntegerType}
import org.apache.spark.unsafe.types.UTF8String

/** A part of an expression that is text already. */
final private[sql] case class WrittenText(override val sql: String, dataType: DataType, nullable: Boolean) extends LeafExpression with Unevaluable

/**
 * Expressions as SQL. Most write themselves; here is what would not be read back as it is.
 *
 * @param query writes the query of a subquery, which sees the columns that are called so around it
 * @param function gives the name by which SQL can call a function of the user's
 * @param outer what a column of the rows around a subquery is called
 */
final private[sql] class ExpressionText(
    query: (LogicalPlan, Map[ExprId, String]) => String,
    function: Expression => String,
    outer: ExprId => Option[String]) {

  /** An expression over columns that are called so. */
  def text(expression: Expression, columns: Map[ExprId, String]): String = new Written(columns).text(expression)

  def order(keys: Seq[SortOrder], columns: Map[ExprId, String]): String = {
    val written = new Written(columns)
    keys.map(key => written.order(key.copy(child = notAPosition(key.child)))).mkString(", ")
  }

  /** What rows are grouped by. */
  def grouping(keys: Seq[Expression], columns: Map[ExprId, String]): String =
    keys.map(key => text(notAPosition(key), columns)).mkString(", ")

  /** A whole number in ORDER BY or GROUP BY would be the number of a column. */
  private def notAPosition(key: Expression): Expression = key match {
    case number @ Literal(_, IntegerType) => Cast(number, IntegerType)
    case other => other
  }

  final private class Written(columns: Map[ExprId, String]) {

    def text(expression: Expression): String = expression match {
      case column: AttributeReference => columns.getOrElse(column.exprId, unknown(column))
      case OuterReference(column) => outer(column.exprId).getOrElse(unknown(column))
      case alias: Alias => text(alias.child)
      case column: TempResolvedColumn => text(column.child) // in HAVING, what BETWEEN was written with
      case subquery: ScalarSubquery => s"(${query(subquery.plan, columns)})"
      case subquery: Exists => s"EXISTS (${query(subquery.plan, columns)})"
      case InSubquery(values, list) =>
        val left = if (values.size == 1) text(values.head) else values.map(text).mkString("(", ", ", ")")
        s"($left IN (${query(list.plan, columns)}))"
      case variable: NamedLambdaVariable => SqlName.quoted(variable.name)
      case LambdaFunction(body, arguments, false) =>
        val names = arguments.map(each => SqlName.quoted(each.name))
        s"${if (names.size == 1) names.head else names.mkString("(", ", ", ")")} -> ${text(body)}"
      case window: WindowExpression => over(window)
      case AggregateExpression(called, _, distinct, filter, _) =>
        aggregate(called, distinct) + filter.fold("")(condition => s" FILTER (WHERE ${text(condition)})")
      case user: Expression with UserDefinedExpression => call(user)
      case stale: InheritAnalysisRules if !isWhatItSays(stale) => text(stale.child)
      // SQL reads the type of a number from its digits; Spark Connect makes others of those that come from Python.
      case number @ Literal(value: Decimal, kind: DecimalType) if Literal(value.toJavaBigDecimal).dataType != kind =>
        s"CAST(${number.sql} AS ${kind.sql})"
      case CalendarIntervals.Written(interval) => interval
      case NewerExpressions.Shared(inside) => text(inside)
      case like: StringRegexExpression => s"(${withText(like).sql})"
      case ILike(value, pattern, escape) if escape != '\\' => s"(${text(value)} ILIKE ${text(pattern)} ESCAPE ${Literal(escape.toString).sql})"
      case NewerExpressions.VariantRead(name, variant, path, kind) =>
        s"$name(${(Seq(variant, path).map(text) ++ kind.map(each => Literal(each.sql).sql)).mkString(", ")})"
      case NewerExpressions.Collated(value, collation) => s"collate(${text(value)}, ${Literal(collation).sql})"
      case NewerExpressions.Raised(message) => s"raise_error(${text(message)})"
      case NewerExpressions.Range(value, lower, upper) => s"(${text(value)} BETWEEN ${text(lower)} AND ${text(upper)})"
      case Extract(Literal(field: UTF8String, _), source, _) => s"extract($field FROM ${text(source)})"
      // What Spark makes of a date and days is read back as that.
      case DateAdd(date, ExtractANSIIntervalDays(days)) => s"(${text(date)} + ${text(days)})"
      case DateAdd(date, UnaryMinus(ExtractANSIIntervalDays(days), _)) => s"(${text(date)} - ${text(days)})"
      case LikeAny(value, patterns) => like(value, "LIKE ANY", patterns)
      case LikeAll(value, patterns) => like(value, "LIKE ALL", patterns)
      case NotLikeAny(value, patterns) => like(value, "NOT LIKE ANY", patterns)
      case NotLikeAll(value, patterns) => like(value, "NOT LIKE ALL", patterns)
      case TimeWindows.Fixed(time, lengths) => s"window(${text(time)}, ${lengths.map(TimeWindows.written).mkString(", ")})"
      case TimeWindows.Session(time, gap) => s"session_window(${text(time)}, ${text(gap)})"
      case TimeWindows.TimeOf(window) => s"window_time(${text(window)})"
      case named: CreateNamedStruct => s"named_struct(${named.children.map(text).mkString(", ")})"
      // These do not write their schema and options.
      case read: JsonToStructs => ofText("from_json", read.child, Some(read.schema), read.options)
      case read: CsvToStructs => ofText("from_csv", read.child, Some(read.schema), read.options)
      case told: SchemaOfJson => ofText("schema_of_json", told.child, None, told.options)
      case told: SchemaOfCsv => ofText("schema_of_csv", told.child, None, told.options)
      case made: StructsToJson => ofText("to_json", made.child, None, made.options)
      case made: StructsToCsv => ofText("to_csv", made.child, None, made.options)
      case NewerExpressions.Xml(name, child, schema, options) => ofText(name, child, schema, options)
      case replaced: InheritAnalysisRules => replaced.makeSQLString(replaced.parameters.map(text))
      case other => withText(other).sql
    }

    private def like(value: Expression, operator: String, patterns: Seq[UTF8String]): String =
      s"(${text(value)} $operator (${patterns.map(Literal(_).sql).mkString(", ")}))"

    private def ofText(name: String, child: Expression, schema: Option[DataType], options: Map[String, String]): String = {
      val said = options.toSeq.sorted.flatMap { case (key, value) => Seq(key, value) }.map(Literal(_).sql).mkString("map(", ", ", ")")
      val arguments = Seq(text(child)) ++ schema.map(each => Literal(each.sql).sql) ++ Option(said).filter(_ => options.nonEmpty)
      s"$name(${arguments.mkString(", ")})"
    }

    def order(key: SortOrder): String = s"${text(key.child)} ${key.direction.sql} ${key.nullOrdering.sql}"

    /** Where Spark gives columns new numbers, it forgets the arguments that a function is shown with. */
    private def isWhatItSays(call: InheritAnalysisRules): Boolean =
      AttributeSet(call.parameters).subsetOf(call.child.references ++ AttributeSet(outerOf(call.child)))

    private def outerOf(expression: Expression): Seq[Attribute] = expression.collect { case OuterReference(column) => column.toAttribute }

    private def unknown(column: NamedExpression): Nothing =
      NotWritten.refuse(s"the column ${column.name} where it is not known", "Name it in a select before.")

    /** The expression over texts; what takes children of a certain kind alone has to be written here, or is refused. */
    private def withText(expression: Expression): Expression =
      try expression.withNewChildren(expression.children.map(each => WrittenText(text(each), each.dataType, each.nullable)))
      catch {
        case _: ClassCastException =>
          NotWritten.refuse(s"the function ${expression.prettyName}", "Write that part as SQL, in lineage.sql(…).")
      }

    private def call(user: Expression): String =
      s"${SqlName.quoted(function(user))}(${user.children.map(text).mkString(", ")})"

    private def aggregate(called: AggregateFunction, distinct: Boolean): String = called match {
      case user: PythonUDAF => call(user)
      // These do not write that they leave NULLs out, or how exact they are.
      case First(child, true) => s"first(${text(child)}, true)"
      case Last(child, true) => s"last(${text(child)}, true)"
      case AnyValue(child, true) => s"any_value(${text(child)}, true)"
      case counted: HyperLogLogPlusPlus => s"approx_count_distinct(${text(counted.child)}, ${Literal(counted.relativeSD).sql})"
      case NewerExpressions.LeastMode(value) => s"mode(${text(value)}, true)"
      case NewerExpressions.ListAggregated(value, delimiter, keys) =>
        val within = if (keys.isEmpty) "" else s" WITHIN GROUP (ORDER BY ${keys.map(order).mkString(", ")})"
        s"listagg(${if (distinct) "DISTINCT " else ""}${text(value)}, ${text(delimiter)})$within"
      case other => withText(other).asInstanceOf[AggregateFunction].sql(distinct)
    }

    private def over(window: WindowExpression): String = {
      val WindowSpecDefinition(partitions, keys, frame) = window.windowSpec
      val parts = Seq(
        Option(partitions).filter(_.nonEmpty).map(_.map(text).mkString("PARTITION BY ", ", ", "")),
        Option(keys).filter(_.nonEmpty).map(_.map(order).mkString("ORDER BY ", ", ", "")),
        frameOf(window.windowFunction, frame))
      val nulls = window.windowFunction match {
        case offset: OffsetWindowFunction if offset.ignoreNulls => " IGNORE NULLS"
        case _ => ""
      }
      s"${text(window.windowFunction)}$nulls OVER (${parts.flatten.mkString(" ")})"
    }

    /** Functions such as `lag` and `rank` bring their frame with them. */
    private def frameOf(function: Expression, frame: WindowFrame): Option[String] = (function, frame) match {
      case (_: FrameLessOffsetWindowFunction | _: RankLike | _: RowNumberLike, _) => None
      case (_, SpecifiedWindowFrame(kind, lower, upper)) => Some(s"${kind.sql} BETWEEN ${bound(lower)} AND ${bound(upper)}")
      case _ => None
    }

    private def bound(edge: Expression): String = edge match {
      case special: SpecialFrameBoundary => special.sql
      case UnaryMinus(distance, _) => s"${text(distance)} PRECEDING"
      case Literal(distance: Int, _) if distance < 0 => s"${-distance.toLong} PRECEDING"
      case Literal(distance: Long, _) if distance < 0 && distance != Long.MinValue => s"${Literal(-distance).sql} PRECEDING"
      case distance => s"${text(distance)} FOLLOWING"
    }
  }
}
