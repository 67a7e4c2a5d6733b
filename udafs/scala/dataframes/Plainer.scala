package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.First
import org.apache.spark.sql.catalyst.optimizer.InlineCTE
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.types.{DoubleType, FloatType}

/** A plan in which SQL has a word for everything: what only the DataFrame API has is said by what Spark makes of it later. */
private object Plainer {

  /** Each CTE stands where it is read; how rows are spread over partitions is left out. */
  def apply(plan: LogicalPlan): LogicalPlan = InlineCTE(alwaysInline = true)(plan).transformUpWithSubqueries {
    case again: RepartitionOperation => again.child
    case again: RebalancePartitions => again.child
    case unique: Deduplicate => onceEach(unique)
    case join: AsOfJoin => NearestRow(join)
    case observed: CollectMetrics => observed.child
    case StagedQuery(query) => query
    case NewerPlans.Piped(rows) => rows
    case expand: Expand => Unpivoted(expand).fold[LogicalPlan](expand)(_ => overColumns(expand))
  }.transformAllExpressionsWithSubqueries {
    case AtLeastNNonNulls(count, values) => atLeast(count, values)
    case changed: UpdateFields => changed.evalExpr // `withField`, `dropFields`
  }

  /**
   * Rows that are spread anew come in another order, which decides what a LIMIT without one gives, and in other partitions, whose
   * numbers functions may tell or begin with.
   */
  def refuseChance(plan: LogicalPlan): Unit = plan.foreach {
    case generate: Generate if generate.generator.isInstanceOf[PythonUDTF] =>
      NotWritten.refuse(
        s"a table function of Python's, ${generate.generator.asInstanceOf[PythonUDTF].name}",
        "Write the query as SQL: lineage.sql(…); or register what it gives: lineage.register(name, source=frame).")
    case cut @ (_: GlobalLimit | _: LocalLimit | _: Offset) if isSpreadAnew(cut.children.head) =>
      NotWritten.refuse("limit(…) or offset(…) of rows that were spread anew, which is left to chance", "Sort them before.")
    case told if told.expressions.exists(!_.deterministic) && told.exists(isSpreading) =>
      NotWritten.refuse(
        "a function that tells the partitions of rows that were spread anew",
        "Save these rows as a table, register it, and trace what is made of it.")
    case _ =>
  }

  private def isSpreading(rows: LogicalPlan): Boolean = rows match {
    case _: RepartitionOperation | _: RebalancePartitions => true
    case _ => false
  }

  private def isSpreadAnew(rows: LogicalPlan): Boolean = rows match {
    case again if isSpreading(again) => true
    case sort: Sort if sort.global => false
    case one: UnaryNode => isSpreadAnew(one.child)
    case _ => false
  }

  /** `dropDuplicates`: of rows with equal keys, the first that comes. */
  private def onceEach(unique: Deduplicate): LogicalPlan = {
    val keys = AttributeSet(unique.keys)
    if (unique.child.output.forall(keys.contains)) Distinct(unique.child)
    else {
      val columns = unique.child.output.map { column =>
        if (keys.contains(column)) column
        else Alias(First(column, ignoreNulls = false).toAggregateExpression(), column.name)(exprId = column.exprId)
      }
      Aggregate(unique.keys, columns, unique.child)
    }
  }

  /** UNPIVOT of columns alone. */
  private def overColumns(expand: Expand): LogicalPlan = {
    val computed = expand.projections.map(_.last).filterNot(_.isInstanceOf[Attribute]).map(Alias(_, "v")())
    val named = computed.map(each => each.child -> each.toAttribute).toMap
    val projections = expand.projections.map(each => each.init :+ named.getOrElse(each.last, each.last))
    if (computed.isEmpty) expand else Expand(projections, expand.output, Project(expand.child.output ++ computed, expand.child))
  }

  /** `na.drop`: SQL has no function of this name. */
  private def atLeast(count: Int, values: Seq[Expression]): Expression = {
    val known = values.map { value =>
      if (value.dataType == DoubleType || value.dataType == FloatType) And(IsNotNull(value), Not(IsNaN(value))) else IsNotNull(value)
    }
    if (count <= 0) Literal.TrueLiteral
    else if (count == known.size) known.reduce(And(_, _))
    else GreaterThanOrEqual(known.map(each => If(each, Literal(1), Literal(0)): Expression).reduce(Add(_, _)), Literal(count))
  }
}
