package org.apache.spark.sql.forwardlineage

import java.util.Locale

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreePattern

import Sessions.{Dataset, SparkSession}

/** What a plan leaves open: two executions of it over the same data may give other rows. CTEs are expected to be inlined. */
private object Repeatability {

  /** An order of a plan's rows that must be total. */
  final case class Order(keys: Seq[Expression], rows: LogicalPlan, what: String) {

    /** Whether several rows have equal keys; an order that depends on an outer row is not looked into, and counts as such. */
    def hasTies(session: SparkSession): Boolean = {
      val outer = (rows +: rows.subqueriesAll).exists(_.exists(_.containsPattern(TreePattern.OUTER_REFERENCE))) ||
        keys.exists(_.containsPattern(TreePattern.OUTER_REFERENCE))
      outer || {
        val count = Alias(Count(Literal(1)).toAggregateExpression(), "n")()
        val groups = Aggregate(keys.filterNot(_.foldable), Seq(count), rows)
        !Dataset.ofRows(session, Filter(GreaterThan(count.toAttribute, Literal(1L)), groups)).isEmpty
      }
    }
  }

  /** In words, what is left to chance, to the clock or to the session. */
  def chances(plan: LogicalPlan): Seq[String] =
    plan.collectWithSubqueries { case node => nodeChance(node) ++ expressionChances(node) }.flatten

  private def nodeChance(node: LogicalPlan): Option[String] = node match {
    case _: Sample => Some("a sample")
    case _: ScriptTransformation => Some("TRANSFORM with a script")
    case _: AsOfJoin => Some("an as-of join")
    case unique: Deduplicate if !AttributeSet(unique.child.output).subsetOf(AttributeSet(unique.keys)) =>
      Some("dropDuplicates over some of the columns")
    case cut: UnaryNode if isCut(cut) && !hasOneRow(cut) && sorted(cut).isEmpty => Some("LIMIT or OFFSET without ORDER BY")
    case _ => None
  }

  private def expressionChances(node: LogicalPlan): Seq[String] = {
    val found = node.expressions.flatMap(_.collect { case each if isChance(each) => each })
    val open = node match {
      case _: Window => found.filterNot(ofAnyOrder) // its ORDER BY says in which order rows come; see `orders`
      case _ => found
    }
    open.map {
      case NewerPlans.Variable(name) => s"the variable $name"
      case function: UserDefinedExpression => s"${function.name}()"
      case function => s"${function.prettyName.toLowerCase(Locale.ROOT)}()"
    }
  }

  /** The expression that brings chance in, not those around it. */
  private def isChance(each: Expression): Boolean = each match {
    case _: PlanExpression[_] => false // its plan is looked at itself
    case NewerPlans.Variable(_) => true
    case function if ofAnyOrder(function) => true
    case _ =>
      Chance.begins(each) ||
        (each.containsPattern(TreePattern.CURRENT_LIKE) && !each.children.exists(_.containsPattern(TreePattern.CURRENT_LIKE)))
  }

  /** Aggregates whose value depends on the order in which rows come; behind a window's ORDER BY there is one. */
  private def ofAnyOrder(function: Expression): Boolean = function match {
    case _: First | _: Last | _: AnyValue | _: CollectList | _: CollectSet | _: MaxMinBy | _: Mode => true
    case _ => false
  }

  /** The orders on which rows depend: those of windows that see single rows, and those behind LIMIT and OFFSET. */
  def orders(plan: LogicalPlan): Seq[Order] = plan.collectWithSubqueries {
    case window: Window if window.windowExpressions.exists(_.exists(isOrdered)) =>
      Seq(Order(window.partitionSpec ++ window.orderSpec.map(_.child), window.child, "the ORDER BY of a window function"))
    case cut: UnaryNode if isCut(cut) && !hasOneRow(cut) =>
      sorted(cut).map(sort => Order(sort.order.map(_.child), sort.child, "the ORDER BY behind LIMIT or OFFSET")).toSeq
  }.flatten

  private def isOrdered(each: Expression): Boolean = each match {
    case WindowExpression(function, definition) =>
      val rows = definition.frameSpecification match {
        case SpecifiedWindowFrame(RowFrame, UnboundedPreceding, UnboundedFollowing) => false
        case SpecifiedWindowFrame(RowFrame, _, _) => true
        case _ => false
      }
      val peersAreEqual = function match {
        case _: RankLike | _: CumeDist => true
        case _ => false
      }
      !peersAreEqual && (rows || function.exists(ofAnyOrder) || function.exists(_.isInstanceOf[NthValue]))
    case _ => false
  }

  private def isCut(node: LogicalPlan): Boolean = node match {
    case _: GlobalLimit | _: Offset | _: Tail => true
    case _ => false
  }

  private def hasOneRow(cut: UnaryNode): Boolean = below(cut).maxRows.exists(_ <= 1)

  private def sorted(cut: UnaryNode): Option[Sort] = below(cut) match {
    case sort: Sort if sort.global => Some(sort)
    case _ => None
  }

  /** What LIMIT, OFFSET and the select list above an ORDER BY stand on. */
  private def below(node: LogicalPlan): LogicalPlan = node match {
    case _: GlobalLimit | _: LocalLimit | _: Offset | _: Tail | _: Project | _: SubqueryAlias => below(node.children.head)
    case other => other
  }
}
