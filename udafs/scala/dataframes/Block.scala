package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions.{Attribute, ExprId, Expression, NamedExpression, SortOrder}

/**
 * One SELECT, while operators are put into it in the order in which SQL evaluates its clauses; what comes too late for that begins a
 * SELECT around it.
 *
 * @param from what stands behind FROM; empty: one row without columns
 * @param columns what the columns of `from` are called here
 * @param alias of `from`, if that is one item, which may stand on the right of a JOIN
 * @param hints what is said of how items of `from` are to be joined
 * @param where conditions, all of which hold
 * @param select the select list; None: columns of `from`
 * @param groupBy the text behind GROUP BY, if rows are grouped
 * @param distinct whether equal rows are one
 * @param order the sort order, of what is selected; `everywhere`: of all rows, else in each partition
 * @param limit how many rows at most
 * @param offset how many rows are left out
 */
final private[sql] case class Block(
    from: String,
    columns: Map[ExprId, String],
    alias: Option[String] = None,
    hints: Seq[String] = Nil,
    where: Seq[Expression] = Nil,
    select: Option[Seq[NamedExpression]] = None,
    groupBy: Option[String] = None,
    distinct: Boolean = false,
    order: Seq[SortOrder] = Nil,
    everywhere: Boolean = true,
    limit: Option[Expression] = None,
    offset: Option[Expression] = None) {

  /** Whether its rows are still those of FROM and WHERE. */
  def isOpen: Boolean = select.isEmpty && !distinct && mayBeSorted

  /** Whether neither an order nor a number of rows was asked for yet. */
  def mayBeSorted: Boolean = order.isEmpty && mayBeCut

  def mayBeCut: Boolean = limit.isEmpty && offset.isEmpty

  /** Whether nothing but FROM is in it. */
  def isFrom: Boolean = isOpen && where.isEmpty && from.nonEmpty

  /** The SELECT as text; each wanted column gets the name beside it. */
  def text(wanted: Seq[(Attribute, String)], expressions: ExpressionText): String = {
    val named = wanted.map { case (column, name) => column.exprId -> Block.quoted(name) }.toMap
    val items = wanted.map { case (column, name) => s"${item(column, expressions)} AS ${Block.quoted(name)}" }
    val told = if (hints.isEmpty) "" else hints.distinct.mkString("/*+ ", ", ", " */ ")
    val clauses = Seq(
      Some(s"SELECT $told${if (distinct) "DISTINCT " else ""}${items.mkString(", ")}"),
      Option(from).filter(_.nonEmpty).map("FROM " + _),
      Option(where.map(expressions.text(_, columns))).filter(_.nonEmpty).map(_.map(each => s"($each)").mkString("WHERE ", " AND ", "")),
      groupBy.map("GROUP BY " + _),
      Option(order).filter(_.nonEmpty).map(keys => (if (everywhere) "ORDER BY " else "SORT BY ") + expressions.order(keys, named)),
      limit.map(rows => "LIMIT " + expressions.text(rows, Map.empty)),
      offset.map(rows => "OFFSET " + expressions.text(rows, Map.empty)))
    clauses.flatten.mkString(" ")
  }

  private def item(column: Attribute, expressions: ExpressionText): String =
    select.flatMap(_.find(_.exprId == column.exprId)) match {
      case Some(found) => expressions.text(found, columns)
      case None => expressions.text(column, columns)
    }
}

private[sql] object Block {

  /** A name as SQL writes it, whatever is in it. */
  def quoted(name: String): String = "`" + name.replace("`", "``") + "`"
}
