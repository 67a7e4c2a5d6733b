package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan, Project, Window}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.{AGGREGATE, WINDOW}

/**
 * Rows that are grouped by the union over their whole group get it with their group, not each its copy.
 *
 *   γ P, w; f (w = dlunion(x) OVER (PARTITION BY P))     →  γ P; f, w = dlunion(x)
 *   γ P, Q, w; f (w = dlunion(x) OVER (PARTITION BY P))  →  w = dlunion(u) OVER (PARTITION BY P) (γ P, Q; f, u = dlunion(x))
 *
 * All rows with the same P have the same w, so it tells no groups apart. PIVOT is rewritten so, see `rewrites/rules/pivots.py`: Spark groups
 * by P and the values that it turns into columns, then by P. The second line takes the window past the first grouping, and the first line
 * takes it away.
 */
object GroupedWindows extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transformUpWithPruning(_.containsAllPatterns(WINDOW, AGGREGATE)) {
    case grouping: Aggregate =>
      below(grouping.child).flatMap { case (window, rows) => past(grouping, window, rows) }.getOrElse(grouping)
  }

  /** Windows that do nothing but unite the lineage of whole partitions, and the rows that are grouped, without what these make. */
  private def below(plan: LogicalPlan): Option[(Window, LogicalPlan)] = plan match {
    case window: Window if window.partitionSpec.forall(_.isInstanceOf[Attribute]) && window.windowExpressions.forall(isUnion) =>
      Some(window -> window.child)
    case Project(columns, window: Window) =>
      val made = madeBy(window)
      val kept = columns.filterNot(made.contains)
      val more = AttributeSet((window.windowExpressions ++ window.partitionSpec).flatMap(_.references)) -- kept.map(_.toAttribute)
      if (kept.forall(column => column.deterministic && column.references.intersect(made).isEmpty))
        below(window).map { case (_, rows) => window -> Project(kept ++ more.toSeq, rows) }
      else None
    case _ => None
  }

  private def isUnion(column: NamedExpression): Boolean = column match {
    case Alias(WindowExpression(aggregate: AggregateExpression, WindowSpecDefinition(_, Nil, frame: SpecifiedWindowFrame)), _) =>
      aggregate.aggregateFunction.isInstanceOf[DlUnion] && !aggregate.isDistinct &&
        frame.lower == UnboundedPreceding && frame.upper == UnboundedFollowing
    case _ => false
  }

  private def madeBy(window: Window): AttributeSet = AttributeSet(window.windowExpressions.map(_.toAttribute))

  private def past(grouping: Aggregate, window: Window, rows: LogicalPlan): Option[LogicalPlan] = {
    val made = madeBy(window)
    val partition = AttributeSet(window.partitionSpec.flatMap(_.references))
    val keys = grouping.groupingExpressions.collect { case key: Attribute if !made.contains(key) => key }
    val isGrouped = grouping.groupingExpressions.forall(_.isInstanceOf[Attribute]) && keys.size < grouping.groupingExpressions.size
    val read = grouping.aggregateExpressions.filter(_.references.exists(made.contains))
    if (!isGrouped || read.exists(addsUp(_, made)) || !partition.subsetOf(AttributeSet(keys))) None
    else if (AttributeSet(keys) == partition) Some(withGroups(grouping, window, keys, rows))
    else if (read.exists(_.exists(_.isInstanceOf[AggregateExpression]))) None
    else Some(above(grouping, window, keys, rows))
  }

  /** Whether unions are an argument of an aggregate, not keys alone. */
  private def addsUp(column: Expression, made: AttributeSet): Boolean = column.exists {
    case aggregate: AggregateExpression => aggregate.references.exists(made.contains)
    case _ => false
  }

  private def withGroups(grouping: Aggregate, window: Window, keys: Seq[Attribute], rows: LogicalPlan): LogicalPlan = {
    val unions = AttributeMap(window.windowExpressions.map(column => column.toAttribute -> union(column)))
    def united(read: Attribute): Expression = unions(read).copy(resultId = NamedExpression.newExprId)
    val columns = grouping.aggregateExpressions.map {
      case read: Attribute if unions.contains(read) => Alias(united(read), read.name)(exprId = read.exprId)
      case other => other.transform { case read: Attribute if unions.contains(read) => united(read) }.asInstanceOf[NamedExpression]
    }
    val groups = if (keys.isEmpty) Seq(Literal(0)) else keys // without any, no rows would be one group
    grouping.copy(groupingExpressions = groups, aggregateExpressions = columns, child = rows)
  }

  private def above(grouping: Aggregate, window: Window, keys: Seq[Attribute], rows: LogicalPlan): LogicalPlan = {
    val made = madeBy(window)
    val (read, others) = grouping.aggregateExpressions.partition(_.references.exists(made.contains))
    val wanted = AttributeSet(read.flatMap(_.references)) ++ AttributeSet(window.partitionSpec.flatMap(_.references))
    val parts = window.windowExpressions.filter(column => wanted.contains(column.toAttribute)).map(column => column -> partial(column))
    val missing = keys.filter(key => wanted.contains(key) && !others.exists(_.toAttribute.semanticEquals(key)))
    val columns = others ++ missing ++ parts.map(_._2)
    val groups = grouping.copy(groupingExpressions = keys, aggregateExpressions = columns, child = rows)
    val unions = parts.map { case (column, part) => ofParts(column, part.toAttribute) }
    val windows = if (unions.isEmpty) groups else window.copy(windowExpressions = unions, child = groups)
    Project(grouping.aggregateExpressions.map(column => if (read.contains(column)) column else column.toAttribute), windows)
  }

  private def union(column: NamedExpression): AggregateExpression =
    column.collectFirst { case aggregate: AggregateExpression => aggregate }.get

  private def partial(column: NamedExpression): Alias = {
    val whole = union(column)
    val function = whole.aggregateFunction.asInstanceOf[DlUnion].copy(setting = Encoding.Quick)
    Alias(whole.copy(aggregateFunction = function, resultId = NamedExpression.newExprId), column.name)()
  }

  private def ofParts(column: NamedExpression, part: Attribute): NamedExpression = column.transform {
    case whole @ AggregateExpression(function: DlUnion, _, _, _, _) =>
      whole.copy(aggregateFunction = function.copy(child = part), filter = None, resultId = NamedExpression.newExprId)
  }.asInstanceOf[NamedExpression]
}
