package org.apache.spark.sql.forwardlineage

import scala.collection.mutable
import scala.util.Try
import scala.util.hashing.MurmurHash3

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical._

/**
 * What the columns of a plan are computed of, and what it compares, in terms of the columns of its leaves: the same however the plan is
 * arranged, which is where values come from, and not which rows there are.
 *
 * @param optimized whether it is an optimised plan, in which rows that were known have been put together under other names
 */
private final class Meaning(optimized: Boolean = false) {
  import Meaning._

  /** What is compared with what, anywhere, by what it is; as Spark writes it. */
  val compared: mutable.Map[Long, String] = mutable.LinkedHashMap()

  /** The same, of conditions of WHERE, HAVING and ON alone. */
  val conditions: mutable.Map[Long, String] = mutable.LinkedHashMap()

  private val stages = mutable.Map[Long, Seq[Value]]()
  private val subqueries = mutable.Map[ExprId, Seq[Value]]()

  /** What each column is made of. */
  def columns(plan: LogicalPlan): Seq[Value] = columns(plan, Map.empty)

  private def columns(plan: LogicalPlan, outer: Known): Seq[Value] = {
    val known = of(plan, outer)
    plan.output.map(column => known.getOrElse(column.exprId, unknown(column)))
  }

  private def of(plan: LogicalPlan, outer: Known): Known = plan match {
    case WithCTE(child, found) =>
      found.foreach(each => stages(each.id) = columns(each.child, outer))
      of(child, outer)
    case reading: CTERelationRef => // by position, as Spark puts it there
      reading.output.map(_.exprId).zip(stages.getOrElse(reading.cteId, reading.output.map(unknown))).toMap
    case leaf if leaf.children.isEmpty => leaf.output.map(column => column.exprId -> ofLeaf(leaf, column)).toMap
    case LateralJoin(left, right, _, _) =>
      val known = of(left, outer)
      val here = known ++ of(right.plan, known)
      look(plan, here, outer)
      here
    case node =>
      val below = node.children.map(of(_, outer))
      val known = below.reverse.foldLeft(Map.empty: Known)(_ ++ _) // a set operation has the columns of its first side
      look(node, known, outer)
      made(node, below, known, outer)
  }

  private def ofLeaf(leaf: LogicalPlan, column: Attribute): Value = leaf match {
    case _: LocalRelation if optimized => unknown(column)
    case _ => new Value(s"column ${column.name.toLowerCase} ${column.dataType.catalogString}", Nil, Set(column.name.toLowerCase))
  }

  /** What an operator makes of what is below it. */
  private def made(node: LogicalPlan, below: Seq[Known], known: Known, outer: Known): Known = node match {
    case union: Union =>
      val sides = union.children.zip(below).map { case (side, here) => side.output.map(each => here.getOrElse(each.exprId, unknown(each))) }
      union.output.map(_.exprId).zip(sides.transpose.map(oneOf)).toMap
    case expand: Expand =>
      expand.output.map(_.exprId).zip(expand.projections.transpose.map(each => oneOf(each.map(value(_, known, outer))))).toMap
    case Generate(ReplicateRows(columns), _, _, _, output, _) =>
      known ++ output.map(_.exprId).zip(columns.tail.map(value(_, known, outer)))
    case generate: Generate =>
      val generator = value(generate.generator, known, outer)
      known ++ generate.generatorOutput.zipWithIndex.map { case (each, i) => each.exprId -> new Value(s"generated $i", Seq(generator)) }
    case other =>
      val named = other.expressions.flatMap(_.collect { case each: Alias => each.exprId -> value(each.child, known, outer) }).toMap
      other.output.map(each => each.exprId -> named.getOrElse(each.exprId, known.getOrElse(each.exprId, unknown(each)))).toMap
  }

  private def look(node: LogicalPlan, known: Known, outer: Known): Unit = {
    val asked = node match {
      case _: Filter | _: Join | _: LateralJoin => true
      case _ => false
    }
    node.expressions.foreach(lookInto(_, asked, known, outer))
  }

  private def lookInto(expression: Expression, asked: Boolean, known: Known, outer: Known): Unit = expression match {
    case function: HigherOrderFunction =>
      val bound = known ++ elements(function, known, outer)
      function.arguments.foreach(lookInto(_, asked, known, outer))
      function.functions.foreach(lookInto(_, asked, bound, outer))
    case subquery: SubqueryExpression =>
      ofSubquery(subquery, known)
      subquery.children.foreach(lookInto(_, asked, known, outer))
    case each =>
      if (isComparison(each) && !each.exists(_.isInstanceOf[SubqueryExpression])) {
        val found = value(each, known, outer).digest -> each.sql
        compared += found
        if (asked) conditions += found
      }
      each.children.foreach(lookInto(_, asked, known, outer))
  }

  private def isComparison(expression: Expression): Boolean = expression match {
    case _: BinaryComparison | _: In | _: StringPredicate | _: StringRegexExpression => true
    case _ => false
  }

  private def ofSubquery(subquery: SubqueryExpression, known: Known): Seq[Value] =
    subqueries.getOrElseUpdate(subquery.exprId, columns(subquery.plan, known))

  /** What the variables of a function of a function are. */
  private def elements(function: HigherOrderFunction, known: Known, outer: Known): Known = {
    val arguments = function.arguments.map(value(_, known, outer))
    function.functions.flatMap {
      case LambdaFunction(_, variables, _) => variables.zipWithIndex.map {
        case (variable, 0) if arguments.head.label == Gathered => variable.exprId -> arguments.head.parts.head
        case (variable, i) => variable.exprId -> new Value(s"element $i", arguments)
      }
      case _ => Nil
    }.toMap
  }

  private def value(expression: Expression, known: Known, outer: Known): Value = {
    def in(each: Expression): Value = value(each, known, outer)
    expression match {
      case OuterReference(column) => value(column, outer, Map.empty)
      case variable: NamedLambdaVariable => known.getOrElse(variable.exprId, unknown(variable))
      case column: Attribute => known.getOrElse(column.exprId, outer.getOrElse(column.exprId, unknown(column)))
      case Alias(child, _) => in(child)
      case DlMoved(child) => in(child)
      case literal: Literal =>
        new Value(s"literal ${literal.sql} ${literal.dataType.catalogString}", Nil, literal = Option(literal.value).map(_.toString))
      case function: HigherOrderFunction =>
        val bound = known ++ elements(function, known, outer)
        new Value(function.nodeName, function.arguments.map(in) ++ function.functions.map(value(_, bound, outer)))
      case GetStructField(child, place, _) => in(child) match {
        case struct if struct.label == Fields => struct.parts(place)
        case other => new Value(s"field $place", Seq(other))
      }
      case struct: CreateNamedStruct => new Value(Fields, struct.valExprs.map(in))
      case cast: Cast if cast.dataType == cast.child.dataType => in(cast.child) // as Spark casts the columns of views
      case random: ExpressionWithRandomSeed => new Value(random.nodeName, Nil) // Spark draws a seed each time that it reads a text
      case function: RuntimeReplaceableAggregate => in(function.replacement)
      case aggregate: AggregateExpression => in(aggregate.aggregateFunction) // which rows it takes is not looked at
      case list: CollectList => new Value(Gathered, Seq(in(list.child)))
      case function: AggregateFunction =>
        val told: Set[String] = if (Told(function.getClass)) Set(s"${function.nodeName}()") else Set.empty
        new Value(function.nodeName, function.children.map(in), told)
      case scalar: ScalarSubquery => ofSubquery(scalar, known).headOption.getOrElse(new Value("nothing", Nil))
      case subquery: SubqueryExpression => new Value(subquery.nodeName, ofSubquery(subquery, known) ++ subquery.children.map(in))
      case GreaterThan(one, other) => new Value("<", Seq(in(other), in(one)))
      case GreaterThanOrEqual(one, other) => new Value("<=", Seq(in(other), in(one)))
      case LessThan(one, other) => new Value("<", Seq(in(one), in(other)))
      case LessThanOrEqual(one, other) => new Value("<=", Seq(in(one), in(other)))
      case equal @ (_: EqualTo | _: EqualNullSafe) => new Value(equal.nodeName, equal.children.map(in).sortBy(_.digest))
      case other => new Value(s"${other.nodeName} ${Try(other.dataType.catalogString).getOrElse("")}", other.children.map(in))
    }
  }
}

private object Meaning {
  type Known = Map[ExprId, Value]

  private val Fields = "struct"
  private val Unknown = "unknown"
  private val Gathered = "list"
  private val Told: Set[Class[_]] = Set(classOf[Sum], classOf[Max], classOf[Min], classOf[Count], classOf[Average])

  /** How a value is computed; two that are computed alike have one digest. */
  final class Value(val label: String, val parts: Seq[Value], told: Set[String] = Set.empty, literal: Option[String] = None) {
    lazy val digest: Long = {
      val inside = parts.map(_.digest)
      MurmurHash3.orderedHash(inside, label.hashCode).toLong << 32 | MurmurHash3.orderedHash(inside, MurmurHash3.stringHash(label)) & 0xffffffffL
    }

    /** The columns of leaves that it is made of, and some of the aggregates. */
    lazy val sources: Set[String] = parts.foldLeft(told)(_ ++ _.sources)

    /** Whether all of it is: where Spark has computed rows beforehand, their columns are not made of anything any more. */
    lazy val isKnown: Boolean = !label.startsWith(Unknown) && parts.forall(_.isKnown)

    /** Constants in it. */
    lazy val literals: Set[String] = parts.foldLeft(literal.toSet)(_ ++ _.literals)
  }

  private def unknown(column: NamedExpression): Value = new Value(s"$Unknown ${column.name}", Nil)

  private def oneOf(values: Seq[Value]): Value = {
    val different = values.groupBy(_.digest).toSeq.sortBy(_._1).map(_._2.head)
    if (different.size == 1) different.head else new Value("one of", different)
  }
}
