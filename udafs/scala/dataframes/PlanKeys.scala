package org.apache.spark.sql.forwardlineage

import java.util.UUID

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.HadoopFsRelation

/**
 * What plans compute, as keys that are equal where it is the same. Spark's own `canonicalized` takes columns by place, so that a
 * column that is carried twice, or renamed, makes another plan; here a column is what it is made of, and a projection is nothing by itself.
 *
 * A key holds numbers, each of which stands for what was met first under it: equal numbers, equal keys.
 */
final private class PlanKeys {
  private type Columns = Map[ExprId, Int]

  private val numbers = mutable.Map[Any, Int]()
  private val filters = mutable.Map[Int, PlanKeys.Filtered]() // by their numbers
  private val recursions = mutable.Map[Any, Int]() // the nodes that they are
  private var nodes = 0 // met in the plan so far; two readings of one table are two

  /** The key of a plan, its columns in their order. */
  def of(plan: LogicalPlan): Any = {
    nodes = 0
    whole(plan, Map.empty)
  }

  private def whole(plan: LogicalPlan, around: Columns): Any = {
    val (key, columns) = rows(plan, around)
    (key, plan.output.map(each => columns(each.exprId)))
  }

  private def number(key: Any): Int = numbers.getOrElseUpdate(key, numbers.size)

  private def next(): Int = {
    nodes += 1
    nodes
  }

  /** What the rows are, and what each of their columns is, as numbers. */
  private def rows(plan: LogicalPlan, around: Columns): (Int, Columns) = plan match {
    case SubqueryAlias(_, child) => rows(child, around)
    case view: View => rows(view.child, around)
    case Project(list, child) =>
      val (below, columns) = rows(child, around)
      val node = if (list.forall(_.deterministic)) 0 else next()
      (if (node == 0) below else number(("by chance", node, below)), around ++ list.map(each => each.exprId -> value(each, columns, node)))
    case Filter(condition, child) =>
      val (below, columns) = rows(child, around)
      (filtered(below, PlanKeys.conjuncts(condition).map(value(_, columns)).toSet, condition.deterministic), columns)
    case join: Join => joined(join, around)
    case groups: Aggregate =>
      val (below, columns) = rows(groups.child, around)
      val node = next()
      val keys = groups.groupingExpressions.map(value(_, columns)).distinct
      val made = groups.aggregateExpressions.map(each => each.exprId -> number(("of group", node, value(each, columns))))
      val sessions = groups.groupingExpressions.collect { case key: NamedExpression if key.metadata.contains(SessionWindow.marker) => value(key, columns) }
      (number(("groups", node, keys, sessions.distinct, below)), around ++ made)
    case union: Union =>
      val sides = union.children.map(rows(_, around))
      val node = next()
      val places = union.output.indices.map(place => union.children.zip(sides).map { case (side, (_, columns)) => columns(side.output(place).exprId) })
      (number(("union", node, sides.map(_._1))), around ++ union.output.map(_.exprId).zip(places.map(each => number(("one of", node, each)))))
    case NewerPlans.Recursive(id, queries, limit, levels) =>
      val node = next()
      recursions(id) = node
      val sides = queries.map(side => (side, rows(side, around)))
      val places = plan.output.indices.map(place => sides.map { case (side, (_, columns)) => columns(side.output(place).exprId) })
      val made = places.map(each => number(("one of", node, each)))
      (number(("recursion", node, limit, levels, sides.map(_._2._1))), around ++ plan.output.map(_.exprId).zip(made))
    case NewerPlans.StepBefore(id) =>
      val node = next()
      val made = plan.output.indices.map(place => number(("of the step before", node, place)))
      (number(("step before", node, recursions.get(id))), around ++ plan.output.map(_.exprId).zip(made))
    case expand: Expand =>
      val (below, columns) = rows(expand.child, around)
      val node = next()
      val made = expand.projections.map(_.map(value(_, columns))).transpose
      (number(("expanded", node, expand.projections.size, below)), around ++ expand.output.map(_.exprId).zip(made.map(each => number(("expanded", node, each)))))
    case other => plain(other, around)
  }

  /** Filters above each other are one. */
  private def filtered(below: Int, conditions: Set[Int], mayMove: Boolean): Int = {
    val under = filters.get(below).filter(_ => mayMove)
    val all = under.fold(PlanKeys.Filtered(conditions, below))(each => PlanKeys.Filtered(each.conditions ++ conditions, each.below))
    val key = number(all)
    if (mayMove) filters(key) = all
    key
  }

  /** Columns of the side that may have no row are others than they were. */
  private def joined(join: Join, around: Columns): (Int, Columns) = {
    val ((left, leftColumns), (right, rightColumns)) = (rows(join.left, around), rows(join.right, around))
    val node = next()
    val condition = join.condition.toSeq.flatMap(PlanKeys.conjuncts).map(value(_, leftColumns ++ rightColumns)).toSet
    def orNone(columns: Columns): Columns = columns.map { case (column, is) => column -> number(("or none", node, is)) }
    val columns = join.joinType match {
      case LeftOuter => leftColumns ++ orNone(rightColumns)
      case RightOuter => orNone(leftColumns) ++ rightColumns
      case FullOuter => orNone(leftColumns) ++ orNone(rightColumns)
      case LeftExistence(_) => leftColumns ++ join.output.drop(join.left.output.size).map(each => each.exprId -> number(("exists", node)))
      case _ => leftColumns ++ rightColumns
    }
    val kind = join.joinType match { case _: InnerLike => Inner; case _: ExistenceJoin => "existence"; case other => other }
    (number(("join", node, kind, condition, left, right)), around ++ columns)
  }

  /** Whatever has expressions and children: its new columns are its own, the others those below. */
  private def plain(plan: LogicalPlan, around: Columns): (Int, Columns) = {
    val children = plan.children.map(rows(_, around))
    val below = children.flatMap(_._2).toMap ++ around
    val node = next()
    val own = plan match {
      case window: Window => window.windowExpressions.map(each => each.exprId -> number(("of window", node, value(each, below))))
      case other =>
        val made = other.output.map(_.exprId).filterNot(below.contains)
        made.zipWithIndex.map { case (column, place) => column -> number(("column", node, place)) }
    }
    val columns = below ++ own
    val said = plan match {
      case sort: Sort => Seq(sort.order.map(value(_, below)), sort.global)
      case window: Window => Seq(window.partitionSpec, window.orderSpec).map(_.map(value(_, below)))
      // Which columns stay beside those of the generator was decided by the optimiser.
      case generate: Generate => Seq(value(generate.generator, below), generate.outer)
      case RelationOf(files: HadoopFsRelation, _) => Seq(PlanKeys.filesOf(files))
      case range: Range => Seq(range.start, range.end, range.step)
      case leaf if leaf.children.isEmpty => Seq(leaf.canonicalized)
      case other => other.productIterator.toSeq.map(argument(_, columns))
    }
    (number((plan.nodeName, node, said, children.map(_._1))), around ++ plan.output.map(each => each.exprId -> columns(each.exprId)))
  }

  private def argument(written: Any, columns: Columns): Any = written match {
    case _: LogicalPlan => "rows"
    case expression: Expression => value(expression, columns)
    case several: Seq[_] => several.map(argument(_, columns))
    case other => other
  }

  /** What an expression is, over columns that are such. */
  private def value(expression: Expression, columns: Columns, chance: Int = 0): Int = expression match {
    case Alias(child, _) => value(child, columns, chance)
    case column: AttributeReference if columns.contains(column.exprId) => columns(column.exprId)
    case other =>
      val over = other.transform {
        case in: InSubquery => // which holds its subquery by its type
          PlanKeys.column(number(("in", in.values.map(value(_, columns, chance)), whole(in.query.plan, columns))), in)
        case subquery: PlanExpression[_] =>
          val inside = whole(subquery.plan.asInstanceOf[LogicalPlan], columns)
          PlanKeys.column(number((subquery.nodeName, inside, subquery.children.map(value(_, columns)))), subquery)
        case Literal(value, kind) => Literal(value, kind.asNullable) // whether an array of constants may hold NULL
        case OuterReference(column) if columns.contains(column.exprId) => PlanKeys.column(columns(column.exprId), column)
        case column: AttributeReference if columns.contains(column.exprId) => PlanKeys.column(columns(column.exprId), column)
      }
      number(("value", if (other.deterministic) 0 else chance, over.canonicalized))
  }
}

private object PlanKeys {

  /** Rows for which all conditions hold. */
  private final case class Filtered(conditions: Set[Int], below: Int)

  private val Ours = new UUID(0L, 0L)

  def conjuncts(condition: Expression): Seq[Expression] = condition match {
    case And(left, right) => conjuncts(left) ++ conjuncts(right)
    case Literal.TrueLiteral => Nil
    case other => Seq(other)
  }

  /** Files may be named in several ways. */
  def filesOf(files: HadoopFsRelation): Any =
    (files.location.rootPaths.toSet, files.fileFormat.getClass, files.schema, files.options - "path" - "paths")

  private def column(is: Int, like: Expression): AttributeReference =
    AttributeReference("column", like.dataType.asNullable)(exprId = ExprId(is.toLong, Ours))
}
