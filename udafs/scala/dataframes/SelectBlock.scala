package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions._

/**
 * One SELECT, while operators are put into it in the order in which SQL evaluates its clauses; what comes too late for that begins a
 * SELECT around it.
 *
 * @param from what stands behind FROM; empty: one row without columns
 * @param columns what the columns of `from` are called here
 * @param alias of `from`, if that is one item, which may stand on the right of a JOIN
 * @param views whether `from` ends with a LATERAL VIEW, behind which no JOIN may stand
 * @param hints what is said of how items of `from` are to be joined
 * @param where conditions, all of which hold
 * @param select the select list; None: columns of `from`
 * @param groupBy the text behind GROUP BY; empty: one group of all rows; None: rows are not grouped
 * @param keySets whether it has GROUPING SETS: a key that HAVING names is one of the rows below
 * @param having conditions of groups
 * @param windows which of the select list are window functions
 * @param distinct whether equal rows are one
 * @param order the sort order, of what is selected; `everywhere`: of all rows, else in each partition
 * @param limit how many rows at most
 * @param offset how many rows are left out
 */
final private[sql] case class SelectBlock(
    from: String,
    columns: Map[ExprId, String],
    alias: Option[String] = None,
    views: Boolean = false,
    hints: Seq[String] = Nil,
    where: Seq[Expression] = Nil,
    select: Option[Seq[NamedExpression]] = None,
    groupBy: Option[String] = None,
    keySets: Boolean = false,
    having: Seq[Expression] = Nil,
    windows: Set[ExprId] = Set.empty,
    distinct: Boolean = false,
    order: Seq[SortOrder] = Nil,
    everywhere: Boolean = true,
    limit: Option[Expression] = None,
    offset: Option[Expression] = None) {

  /** Whether its rows are still those of FROM and WHERE. */
  def isOpen: Boolean = select.isEmpty && mayHaveColumns

  /** Whether more may be computed beside what is selected. */
  def mayHaveColumns: Boolean = !distinct && mayBeSorted

  /** Whether neither an order nor a number of rows was asked for yet. */
  def mayBeSorted: Boolean = order.isEmpty && mayBeCut

  def mayBeCut: Boolean = limit.isEmpty && offset.isEmpty

  /** Whether nothing but FROM is in it. */
  def isFrom: Boolean = isOpen && where.isEmpty && from.nonEmpty

  /** Whether a JOIN may follow. */
  def mayBeJoined: Boolean = isFrom && !views

  /** Whether conditions of its rows are those of HAVING. */
  def mayHaveConditions: Boolean = groupBy.isDefined && windows.isEmpty && mayHaveColumns

  /** Whether an expression over what is selected may stand beside it, what it reads being written again. */
  def mayRead(expression: Expression): Boolean =
    SelectBlock.readBy(expression).flatMap(selected).forall { item =>
      !windows(item.exprId) && SelectBlock.isCheap(item) && !(keySets && item.isInstanceOf[Attribute])
    }

  private def selected(column: ExprId): Option[NamedExpression] = select.flatMap(_.find(_.exprId == column))

  /** The SELECT as text; each wanted column gets the name beside it. */
  def text(wanted: Seq[(Attribute, String)], expressions: ExpressionText): String = {
    val made = columns ++ select.toSeq.flatten.filterNot(each => windows(each.exprId)).map(each => each.exprId -> SelectBlock.apart(each, expressions, columns))
    val items = wanted.map { case (column, name) => s"${item(column, expressions, made)} AS ${SqlName.quoted(name)}" }
    val told = if (hints.isEmpty) "" else hints.distinct.mkString("/*+ ", ", ", " */ ")
    val clauses = Seq(
      Some(s"SELECT $told${if (distinct) "DISTINCT " else ""}${items.mkString(", ")}"),
      Option(from).filter(_.nonEmpty).map("FROM " + _),
      conditions("WHERE", where, expressions, columns),
      groupBy.filter(_.nonEmpty).map("GROUP BY " + _),
      conditions("HAVING", having, expressions, made),
      if (order.isEmpty) None else Some((if (everywhere) "ORDER BY " else "SORT BY ") + sorted(wanted, expressions, made)),
      limit.map(rows => "LIMIT " + expressions.text(rows, Map.empty)),
      offset.map(rows => "OFFSET " + expressions.text(rows, Map.empty)))
    clauses.flatten.mkString(" ")
  }

  private def conditions(clause: String, all: Seq[Expression], expressions: ExpressionText, known: Map[ExprId, String]): Option[String] =
    if (all.isEmpty) None else Some(all.map(each => s"(${expressions.text(each, known)})").mkString(s"$clause ", " AND ", ""))

  /** Keys of a sort are called by their names; those that are not wanted are written again. */
  private def sorted(wanted: Seq[(Attribute, String)], expressions: ExpressionText, made: Map[ExprId, String]): String = {
    val named = wanted.map { case (column, name) => column.exprId -> SqlName.quoted(name) }.toMap
    val others = order.flatMap(_.references).filterNot(column => named.contains(column.exprId))
    expressions.order(order, named ++ others.map(column => column.exprId -> item(column, expressions, made)))
  }

  private def item(column: Attribute, expressions: ExpressionText, made: Map[ExprId, String]): String =
    selected(column.exprId) match {
      case Some(window) if windows(window.exprId) => expressions.text(window, made)
      case Some(found) => expressions.text(found, columns)
      case None => expressions.text(column, columns)
    }
}

private[sql] object SelectBlock {

  /** The columns that an expression reads, those around its subqueries too. */
  private def readBy(expression: Expression): Seq[ExprId] = expression.collect {
    case column: Attribute => Seq(column.exprId)
    case subquery: PlanExpression[_] => subquery.references.map(_.exprId).toSeq
  }.flatten

  /** What a name stands for, so that it may stand within an expression. */
  private def apart(item: NamedExpression, expressions: ExpressionText, columns: Map[ExprId, String]): String = item match {
    case column: Attribute => expressions.text(column, columns)
    case other => s"(${expressions.text(other, columns)})"
  }

  /** Whether an expression may be written in two places: it is the same there, and brings neither rows nor calls of its own. */
  private def isCheap(item: NamedExpression): Boolean =
    item.deterministic && !item.exists {
      case _: PlanExpression[_] | _: UserDefinedExpression => true
      case _ => false
    }
}
