package org.apache.spark.sql.forwardlineage

import java.util.Locale

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._

/**
 * An analysed plan as the SQL that asks for the same, operator by operator: a DataFrame has no text, and the rules of lineage are about
 * text. Whether Spark reads it back as the plan that it was is asked by `SamePlan`.
 *
 * Columns are named by number, since names of a plan's columns are neither unique nor always SQL.
 *
 * @param nameOf what a part of the plan is called in FROM; None: it is looked into
 * @param function gives the name by which SQL can call a function of the user's
 */
final private[sql] class PlanSql(nameOf: LogicalPlan => Option[String], function: Expression => String) {
  private val numbers = mutable.Map[ExprId, Int]()
  private var relations = 0
  private var taken = Set.empty[String] // where a column is called `r1`, `r1.x` would be a field of it
  private val recursions = mutable.Map[Any, (String, Seq[String])]() // what they are called, and their columns
  private var outer = Map.empty[ExprId, String] // what subqueries see of the rows around them

  private val expressions: ExpressionText = new ExpressionText(subquery, function, column => outer.get(column))

  /** The plan as a query whose columns have the plan's own names. */
  def text(plan: LogicalPlan): String = {
    taken = PlanSql.namesIn(plan)
    val columns = plan.output.map(_.name)
    val block = this.block(plan)
    val unique = columns.map(_.toLowerCase(Locale.ROOT)).distinct.size == columns.size
    val last = if (unique || block.order.isEmpty) block else wrapped(block, plan.output)
    last.text(plan.output.zip(columns), expressions)
  }

  private def subquery(plan: LogicalPlan, around: Map[ExprId, String]): String = inside(around)(plain(plan))

  private def inside(around: Map[ExprId, String])(write: => String): String = {
    val before = outer
    outer = around
    try write finally outer = before
  }

  /** A query whose columns are called by number; with one of each. */
  private def plain(plan: LogicalPlan): String = block(plan).text(numbered(plan.output), expressions)

  private def numbered(columns: Seq[Attribute]): Seq[(Attribute, String)] = {
    val named = mutable.Map[String, Int]()
    columns.map { column =>
      val name = nameFor(column)
      val times = named.getOrElse(name, 0)
      named(name) = times + 1
      column -> (if (times == 0) name else s"${name}_$times") // the same column twice
    }
  }

  private def nameFor(column: NamedExpression): String = s"c${numbers.getOrElseUpdate(column.exprId, numbers.size + 1)}"

  private def block(plan: LogicalPlan): SelectBlock = nameOf(plan) match {
    case Some(name) => table(name, plan)
    case None => written(plan)
  }

  private def table(name: String, plan: LogicalPlan): SelectBlock = {
    val alias = fresh()
    val names = if (GivenRows.nameOf(plan).isDefined) plan.output.indices.map(GivenRows.column) else plan.output.map(_.name)
    val columns = plan.output.zip(names).map { case (each, called) => each.exprId -> s"$alias.${SqlName.quoted(called)}" }
    SelectBlock(s"$name AS $alias", columns.toMap, Some(alias))
  }

  private def fresh(): String = {
    relations += 1
    if (taken(s"r$relations")) fresh() else s"r$relations"
  }

  private def written(plan: LogicalPlan): SelectBlock = plan match {
    // A derived table, a CTE, a view: what stands above it is another SELECT.
    case _: SubqueryAlias | _: View => block(plan.children.head, each => each.isFrom && each.alias.isDefined)
    case ResolvedHint(child, told) => hinted(block(child, each => each.isFrom && each.alias.isDefined), told)
    case Filter(_, TimeWindows.Sliding(rows, columns)) => block(rows, _.isOpen).copy(select = Some(columns)) // `window(…)` filters by itself
    case Filter(condition, child) => filtered(condition, child)
    case Pivoted(pivot) => pivoted(pivot)
    case Project(list, child) if list.forall(_.isInstanceOf[Attribute]) => block(child, !_.distinct)
    case Project(list, child) => block(child, _.isOpen).copy(select = Some(list))
    case window: Window => withWindows(window)
    case groups: Aggregate => grouped(groups)
    case Distinct(child) =>
      val rows = block(child, _.mayHaveColumns)
      rows.copy(distinct = true, select = rows.select.orElse(Some(child.output)))
    case sort: Sort =>
      val rows = block(sort.child, _.mayBeSorted)
      rows.copy(select = rows.select.orElse(Some(sort.child.output)), order = sort.order, everywhere = sort.global)
    case GlobalLimit(rows, LocalLimit(_, child)) => block(child, _.limit.isEmpty).copy(limit = Some(rows))
    case Offset(rows, child) => block(child, _.mayBeCut).copy(offset = Some(rows))
    case join: Join => joined(join)
    case join: LateralJoin => joinedLaterally(join)
    case union: Union if !union.byName => setOperation(union, "UNION ALL")
    case Intersect(_, _, all) => setOperation(plan, if (all) "INTERSECT ALL" else "INTERSECT")
    case Except(_, _, all) => setOperation(plan, if (all) "EXCEPT ALL" else "EXCEPT")
    case NewerPlans.Recursive(id, sides, None, levels) => recursive(plan, id, sides, levels)
    case NewerPlans.StepBefore(id) => stepBefore(plan, recursions(id))
    case generate: Generate => generated(generate)
    case expand: Expand => unpivoted(expand)
    case _: OneRowRelation => SelectBlock("", Map.empty)
    case range: Range => this.range(range)
    case sample: Sample => sampled(sample)
    case other => refused(other)
  }

  /** The block of the rows, if what comes next may be put into it; else a new one around it. */
  private def block(plan: LogicalPlan, fits: SelectBlock => Boolean): SelectBlock = {
    val rows = block(plan)
    if (fits(rows)) rows else wrapped(rows, plan.output)
  }

  private def wrapped(block: SelectBlock, output: Seq[Attribute]): SelectBlock = {
    val alias = fresh()
    val columns = output.groupBy(_.exprId).values.map(_.head).toSeq.sortBy(output.indexOf(_)).map(each => each -> nameFor(each))
    val inside = block.text(columns, expressions)
    SelectBlock(s"($inside) AS $alias", columns.map { case (each, name) => each.exprId -> s"$alias.$name" }.toMap, Some(alias))
  }

  private def filtered(condition: Expression, child: LogicalPlan): SelectBlock = {
    val rows = block(child)
    // Spark names a window's value after its text where the text does not: in QUALIFY, which has other lineage than a filter above.
    if (condition.references.exists(each => rows.windows(each.exprId) && each.name.contains(" OVER ("))) {
      NotWritten.refuse(
        "a filter by a window's value that has no name, which may be QUALIFY",
        "Give the value a name with alias(…), or the text with QUALIFY to lineage.sql.")
    }
    if (rows.mayHaveConditions && rows.mayRead(condition)) rows.copy(having = rows.having :+ condition)
    else {
      val open = if (rows.isOpen) rows else wrapped(rows, child.output)
      open.copy(where = open.where :+ condition)
    }
  }

  /** Windows that do not read each other stand side by side, so that none has the lineage of another. */
  private def withWindows(window: Window): SelectBlock = {
    val rows = block(window.child, each => each.mayHaveColumns && window.windowExpressions.forall(each.mayRead))
    val calls = window.windowExpressions
    rows.copy(select = Some(rows.select.getOrElse(window.child.output) ++ calls), windows = rows.windows ++ calls.map(_.exprId))
  }

  /** How a join is carried out decides which rows a LIMIT without an order gives, so it goes with the rows. */
  private def hinted(rows: SelectBlock, told: HintInfo): SelectBlock =
    rows.copy(hints = rows.hints ++ told.strategy.map(each => s"${each.displayName.toUpperCase(Locale.ROOT)}(${rows.alias.get})"))

  private def grouped(groups: Aggregate): SelectBlock = groups.child match {
    case expand: Expand if Unpivoted(expand).isEmpty => KeySets(groups, expand).fold(refused(expand)) { sets =>
        val rows = block(sets.rows, _ => false)
        val above = (sets.passed ++ sets.keys).map { case (column, below) => column.exprId -> rows.columns(below.exprId) }
        val columns = rows.columns ++ above + (sets.id.exprId -> "grouping_id()")
        val all = expressions.grouping(sets.keys.map(_._1), columns)
        val each = sets.sets.map(set => s"(${expressions.grouping(set, columns)})").mkString(", ")
        rows.copy(columns = columns, select = Some(groups.aggregateExpressions), groupBy = Some(s"$all GROUPING SETS ($each)"), keySets = true)
      }
    case child =>
      val rows = block(child, _.isOpen)
      val keys = groups.groupingExpressions
      val by = Option(keys).filter(_.nonEmpty).map(expressions.grouping(_, rows.columns))
      rows.copy(select = Some(groups.aggregateExpressions), groupBy = Some(by.getOrElse("")))
  }

  private def joined(join: Join): SelectBlock = {
    val left = block(join.left, _.mayBeJoined)
    val right = block(join.right, each => each.isFrom && each.alias.isDefined)
    val both = left.columns ++ right.columns
    val on = join.condition.fold("")(condition => s" ON ${expressions.text(condition, both)}")
    val kind = join.joinType match {
      case _: InnerLike if on.isEmpty => "CROSS JOIN"
      case _: InnerLike => "JOIN"
      case LeftOuter | RightOuter | FullOuter | LeftSemi | LeftAnti => s"${join.joinType.sql} JOIN"
      case other => NotWritten.refuse(s"a join of the kind ${other.sql}", "Use an inner, outer, semi, anti or cross join.")
    }
    val always = if (on.isEmpty && kind != "CROSS JOIN") " ON true" else on
    val columns = if (join.joinType == LeftSemi || join.joinType == LeftAnti) left.columns else both
    SelectBlock(s"${left.from} $kind ${right.from}$always", columns, hints = left.hints ++ right.hints)
  }

  private def joinedLaterally(join: LateralJoin): SelectBlock = {
    val left = block(join.left, _.mayBeJoined)
    val alias = fresh()
    // Where no row is found what is computed would have to be NULL.
    val (rows, columns) = laterally(join.right.plan, left.columns, alias, each => isColumn(each) || (join.joinType != LeftOuter && each.deterministic))
    val both = left.columns ++ columns
    val kind = if (join.joinType == LeftOuter) "LEFT JOIN" else "JOIN"
    val on = join.condition.fold(if (kind == "JOIN") "" else " ON true")(condition => s" ON ${expressions.text(condition, both)}")
    SelectBlock(s"${left.from} $kind LATERAL $rows$on", both, hints = left.hints)
  }

  /** The rows of a plan that sees the columns around it. A generator is no subquery: there Spark would not let it see them. */
  private def laterally(
      plan: LogicalPlan,
      around: Map[ExprId, String],
      alias: String,
      above: NamedExpression => Boolean): (String, Map[ExprId, String]) = plan match {
    case SubqueryAlias(_, child) => laterally(child, around, alias, above)
    case Project(list, child @ Generated(_)) if list.forall(above) =>
      val (rows, columns) = laterally(child, around, alias, above)
      def written(each: NamedExpression): String = inside(around)(expressions.text(each, columns))
      (rows, list.map(each => each.exprId -> (if (isColumn(each)) written(each) else s"(${written(each)})")).toMap)
    case Generated(generate) =>
      val names = generate.generatorOutput.map(each => each.exprId -> nameFor(each))
      val call = inside(around)(expressions.text(generate.generator, Map.empty))
      (s"$call AS $alias(${names.map(_._2).mkString(", ")})", names.map { case (each, name) => each -> s"$alias.$name" }.toMap)
    case other =>
      val names = numbered(other.output).map { case (column, name) => column.exprId -> s"$alias.$name" }
      (s"(${subquery(other, around)}) AS $alias", names.reverse.toMap)
  }

  private def isColumn(item: NamedExpression): Boolean = item match {
    case Alias(_: AttributeReference, _) | _: AttributeReference => true
    case _ => false
  }

  /** A generator called as a table. */
  private object Generated {
    def unapply(plan: LogicalPlan): Option[Generate] = plan match {
      case generate: Generate if !generate.outer && generate.child.isInstanceOf[OneRowRelation] => Some(generate)
      case _ => None
    }
  }

  /** The sides' columns go by place, under the names of the first. */
  private def setOperation(plan: LogicalPlan, operator: String): SelectBlock = {
    val names = plan.output.map(nameFor)
    val unique = names.zipWithIndex.map { case (name, place) => if (names.indexOf(name) == place) name else s"${name}_$place" }
    val alias = fresh()
    val sides = plan.children.map(side => s"(${block(side).text(side.output.zip(unique), expressions)})")
    val columns = plan.output.zip(unique).map { case (each, name) => each.exprId -> s"$alias.$name" }
    SelectBlock(s"(${sides.mkString(s" $operator ")}) AS $alias", columns.reverse.toMap, Some(alias))
  }

  private def recursive(plan: LogicalPlan, id: Any, queries: Seq[LogicalPlan], most: Option[Any]): SelectBlock = {
    val (name, alias) = (s"steps_${fresh()}", fresh())
    val names = plan.output.indices.map(place => s"n$place")
    recursions(id) = (name, names)
    val sides = queries.map(side => block(side).text(side.output.zip(names), expressions))
    val columns = plan.output.zip(names).map { case (each, called) => each.exprId -> s"$alias.$called" }
    val levels = most.fold("")(number => s" MAX RECURSION LEVEL $number")
    val query = s"WITH RECURSIVE $name(${names.mkString(", ")})$levels AS (${sides.mkString(" UNION ALL ")}) SELECT * FROM $name"
    SelectBlock(s"($query) AS $alias", columns.toMap, Some(alias))
  }

  private def stepBefore(plan: LogicalPlan, called: (String, Seq[String])): SelectBlock = {
    val alias = fresh()
    val columns = plan.output.zip(called._2).map { case (each, name) => each.exprId -> s"$alias.$name" }
    SelectBlock(s"${called._1} AS $alias", columns.toMap, Some(alias))
  }

  private def generated(generate: Generate): SelectBlock = {
    val below = block(generate.child, each => each.isFrom || each == SelectBlock("", Map.empty))
    val rows = if (below.from.isEmpty) below.copy(from = s"(SELECT 1) AS ${fresh()}") else below
    val alias = fresh()
    val names = generate.generatorOutput.map(each => each.exprId -> nameFor(each))
    val outerRows = if (generate.outer) "OUTER " else ""
    val call = expressions.text(generate.generator, rows.columns)
    val view = s"LATERAL VIEW $outerRows$call $alias AS ${names.map(_._2).mkString(", ")}"
    SelectBlock(s"${rows.from} $view", hints = rows.hints, columns = rows.columns ++ names.map { case (each, name) => each -> s"$alias.$name" }, views = true)
  }

  /** The columns that become rows get names of their own: UNPIVOT takes no expressions. */
  private def unpivoted(expand: Expand): SelectBlock = {
    val found = Unpivoted(expand).getOrElse(refused(expand))
    val values = found.values.zipWithIndex.map { case (value, place) => Alias(value, s"v$place")() }
    val inside = selected(expand.child, found.kept.map(_._2) ++ values, found.kept.map(each => nameFor(each._1)) ++ values.map(_.name))
    val items = values.zip(found.names).map { case (value, name) => s"${value.name} AS ${SqlName.quoted(name)}" }
    val alias = fresh()
    val columns = (found.kept.map(_._1) :+ found.name :+ found.value).map(each => each.exprId -> s"$alias.${nameFor(each)}")
    val turned = s"UNPIVOT INCLUDE NULLS (${nameFor(found.value)} FOR ${nameFor(found.name)} IN (${items.mkString(", ")}))"
    SelectBlock(s"($inside) $turned AS $alias", columns.toMap) // on the right of a JOIN no UNPIVOT may stand
  }

  /** What is not said to be a key must be read by the aggregates: PIVOT groups by all other columns. */
  private def pivoted(pivot: Pivoted): SelectBlock = {
    val read = AttributeSet(pivot.aggregates).toSeq.zipWithIndex.map { case (column, place) => column -> Alias(column, s"a$place")() }.toMap
    val keys = pivot.keys.map { case (key, column) => Alias(key, nameFor(column))() }
    val by = Alias(pivot.by, "p")()
    val list = (keys :+ by) ++ read.values
    val inside = selected(pivot.rows, list, list.map(_.name))
    val inputs = read.map { case (column, copy) => column.exprId -> copy.name }
    val calls = pivot.aggregates.zipWithIndex.map { case (call, place) => s"${expressions.text(call, inputs)} AS m$place" }
    val values = pivot.values.zipWithIndex.map { case (value, place) => s"${value.sql} AS v$place" }
    val alias = fresh()
    val names = for { value <- values.indices; call <- calls.indices } yield if (calls.size == 1) s"v$value" else s"v${value}_m$call"
    val columns = pivot.keys.map { case (_, column) => column.exprId -> s"$alias.${nameFor(column)}" } ++
      pivot.outputs.map(_.exprId).zip(names.map(name => s"$alias.$name"))
    SelectBlock(s"($inside) PIVOT (${calls.mkString(", ")} FOR p IN (${values.mkString(", ")})) AS $alias", columns.toMap)
  }

  /** A query of these items over the rows of a plan. */
  private def selected(plan: LogicalPlan, items: Seq[NamedExpression], names: Seq[String]): String =
    block(plan, _.isOpen).copy(select = Some(items)).text(items.map(_.toAttribute).zip(names), expressions)

  private def range(rows: Range): SelectBlock = {
    val alias = fresh()
    val column = rows.output.head
    SelectBlock(
      s"range(${rows.start}L, ${rows.end}L, ${rows.step}L) AS $alias",
      Map(column.exprId -> s"$alias.id"),
      Some(alias))
  }

  /** A sample of a table is the same at every run if its seed is; of other rows, which come in any order, it is chance. */
  private def sampled(sample: Sample): SelectBlock = {
    val seed = sample.productElement(3) match { case told: Option[_] => told; case told => Some(told) } // an option from 4.3 on
    val isWhole = sample.lowerBound == 0 && !sample.withReplacement
    (named(sample.child), seed) match {
      case (Some((name, plan)), Some(told: Long)) if isWhole && told >= 0 && told.isValidInt =>
        val percent = BigDecimal(sample.upperBound) * 100
        val rows = table(name, plan)
        rows.copy(from = s"$name TABLESAMPLE (${percent.bigDecimal.toPlainString} PERCENT) REPEATABLE ($told) AS ${rows.alias.get}")
      case _ =>
        NotWritten.refuse("a sample, which is left to chance", "Sample a table, with a seed; or save the sample, register it, and trace what is made of it.")
    }
  }

  private def named(plan: LogicalPlan): Option[(String, LogicalPlan)] = (nameOf(plan), plan) match {
    case (Some(name), _) => Some(name -> plan)
    case (None, SubqueryAlias(_, child)) => named(child)
    case _ => None
  }

  private def refused(plan: LogicalPlan): Nothing = plan match {
    case given if given.children.isEmpty =>
      NotWritten.refuse(
        s"rows that are not registered (${shortened(given)})",
        "Register them: lineage.register(name, source=frame) or path=…; and make the DataFrame of lineage.spark.table(name).")
    case NewerPlans.TableFunction(name, _) =>
      NotWritten.refuse(
        s"a table function written in SQL, ${name.funcName}",
        "Write its query in the place of the call; or register what it gives: lineage.register(name, source=frame).")
    case numbered if numbered.nodeName == "AttachDistributedSequence" =>
      NotWritten.refuse(
        NotWritten.called(numbered.nodeName),
        "Number rows with row_number() over an order. Of pandas on Spark, name an index: pandas_api(index_col=…), to_spark(index_col=…).")
    case other => NotWritten.refuse(NotWritten.called(other.nodeName), "Write that part as SQL, or save what stands below it and register that.")
  }

  private def shortened(plan: LogicalPlan): String = {
    val text = plan.simpleString(25).replaceAll("\\s+", " ")
    if (text.length <= 100) text else text.take(99) + "…"
  }
}

private object PlanSql {

  /** What columns, and variables of lambda functions, are called anywhere in a plan, in lower case. */
  def namesIn(plan: LogicalPlan): Set[String] = {
    val variables = plan.expressions.flatMap(_.collect { case variable: NamedLambdaVariable => variable.name })
    val below = plan.children ++ plan.subqueries
    (plan.output.map(_.name) ++ variables).map(_.toLowerCase(Locale.ROOT)).toSet ++ below.flatMap(namesIn)
  }
}
