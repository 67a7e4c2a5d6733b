package org.apache.spark.sql.forwardlineage

import scala.annotation.tailrec

import org.apache.spark.api.python.{PythonFunction, SimplePythonFunction}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.types.{StructField, StructType}

/**
 * A function of Python's over the rows of a frame: `mapInPandas`, `applyInArrow` and the like, for which SQL has no word.
 *
 * @param operator what carries it out
 * @param call the function
 */
final private[sql] case class FrameFunction(operator: LogicalPlan, call: PythonUDF) {

  /** What PySpark calls it. */
  val called: String = FrameFunction.Operators(FrameFunction.kindOf(operator))

  /** "map", "group" or "cogroup". */
  val kind: String = (operator, operator.children.size) match {
    case _ if called.startsWith("map") => "map"
    case (_, 1) => "group"
    case _ => "cogroup"
  }

  /** The rows that it is given: of a map without what only says how they are spread and sorted, which is no SQL or is lost in it. */
  val inputs: Seq[FunctionInput] =
    if (kind == "map") Seq(FunctionInput.below(operator.children.head, Nil)) else operator.children.map(new FunctionInput(_, Nil))

  /** How many columns of an input are its groups' keys: they come first, and are none of those that the function is given. */
  def keys(input: Int): Int = {
    val said = operator.productIterator.collect { case columns: Seq[_] => columns.size; case size: Int => size }.toSeq
    kind match {
      case "map" => 0
      case "group" => said.head
      case _ => said(input)
    }
  }

  /** The same over other rows, by another function of Python's which gives `more` columns, too. */
  def instead(rows: Seq[LogicalPlan], command: Array[Byte], more: Seq[Attribute]): LogicalPlan = {
    val columns = operator.output.map(_.newInstance()) ++ more
    val wrapper = call.copy(
      func = withCommand(command),
      dataType = StructType(columns.map(each => StructField(each.name, each.dataType, each.nullable, each.metadata))),
      children = rows.flatMap(_.output),
      resultId = NamedExpression.newExprId)
    val below = rows.iterator
    val arguments = operator.productIterator.map {
      case _: PythonUDF => wrapper
      case _: LogicalPlan => below.next()
      case same: Seq[_] if same eq operator.output => columns
      case keys: Seq[_] => rows.head.output.take(keys.size)
      case other => other.asInstanceOf[AnyRef]
    }
    operator.makeCopy(arguments.toArray)
  }

  /** The user's broadcasts, files and environment stay with it. */
  private def withCommand(command: Array[Byte]): PythonFunction = call.func match {
    case simple: SimplePythonFunction => simple.copy(command = command.toSeq)
    case other => NotWritten.refuse(s"a function of Python's of the kind ${other.getClass.getSimpleName}", "Trace what it is given.")
  }
}

private[sql] object FrameFunction {

  /** What carries it out → what PySpark calls that; 3.5 has another name for one. */
  private val Operators = Map(
    "MapInPandas" -> "mapInPandas",
    "PythonMapInArrow" -> "mapInArrow",
    "MapInArrow" -> "mapInArrow",
    "FlatMapGroupsInPandas" -> "applyInPandas",
    "FlatMapGroupsInArrow" -> "applyInArrow",
    "FlatMapCoGroupsInPandas" -> "cogroup(…).applyInPandas",
    "FlatMapCoGroupsInArrow" -> "cogroup(…).applyInArrow")

  private def kindOf(plan: LogicalPlan): String = plan.getClass.getSimpleName

  def of(plan: LogicalPlan): Option[FrameFunction] =
    if (Operators.contains(kindOf(plan))) plan.productIterator.collectFirst { case call: PythonUDF => new FrameFunction(plan, call) } else None

  /** The plan, in which the rows of each function have a name. */
  def named(plan: LogicalPlan, nameOf: LogicalPlan => Option[String], names: Iterator[String]): LogicalPlan = plan match {
    case function if of(function).isDefined => SubqueryAlias(names.next(), function)
    case other if nameOf(other).isDefined => other
    case other =>
      other.withNewChildren(other.children.map(named(_, nameOf, names))).mapExpressions(_.transform {
        case subquery: SubqueryExpression => subquery.withNewPlan(named(subquery.plan, nameOf, names))
      })
  }

  /** The functions in a plan above which no other stands, and that are in nothing that has a name; in the order of `named`. */
  def in(plan: LogicalPlan, nameOf: LogicalPlan => Option[String]): Seq[FrameFunction] = plan match {
    case function if of(function).isDefined => of(function).toSeq
    case other if nameOf(other).isDefined => Nil
    case other =>
      val inside = other.expressions.flatMap(_.collect { case subquery: SubqueryExpression => subquery.plan })
      (other.children ++ inside).flatMap(in(_, nameOf))
  }
}

/**
 * What a function is given.
 *
 * @param base rows that are traced
 * @param above how these are spread and sorted then, from below
 */
final private[sql] case class FunctionInput(base: LogicalPlan, above: List[UnaryNode]) {

  /** Its rows as a query whose columns are called by number. */
  def numbered: LogicalPlan = Project(GivenRows.numbered(base.output), base)

  /** The same columns over rows that were traced, and behind them the sets of `DL`, a column each. */
  def over(traced: LogicalPlan): LogicalPlan = {
    val (users, lineage) = traced.output.splitAt(base.output.size)
    val named = base.output.zip(users).map { case (column, made) => column.exprId -> Alias(made, column.name)(explicitMetadata = Some(column.metadata)) }
    val once = named.reverse.toMap // a key that is a column, too, is one column
    val sets = lineage.flatMap { column =>
      column.dataType.asInstanceOf[StructType].indices.map(place => Alias(GetStructField(column, place), GivenRows.hidden(place))())
    }
    val columns = Project(base.output.map(_.exprId).distinct.map(once) ++ sets, traced)
    val rows: LogicalPlan = Project(base.output.map(column => once(column.exprId).toAttribute) ++ sets.map(_.toAttribute), columns)
    val known = AttributeMap(base.output.zip(rows.output))
    above.foldLeft(rows) { (below, node) =>
      node.withNewChildren(Seq(below)).transformExpressions { case column: Attribute => known.getOrElse(column, column) }
    }
  }

  /** Whether the rows were spread anew somewhere below, which the SQL of them does not say. */
  def isSpreadBelow: Boolean = base.exists { case _: RepartitionOperation | _: RebalancePartitions => true; case _ => false }
}

private[sql] object FunctionInput {
  @tailrec
  def below(rows: LogicalPlan, above: List[UnaryNode]): FunctionInput = rows match {
    case again: RepartitionOperation => below(again.child, again :: above)
    case again: RebalancePartitions => below(again.child, again :: above)
    case sort: Sort => below(sort.child, sort :: above)
    case SubqueryAlias(_, child) => below(child, above)
    case other => new FunctionInput(other, above)
  }
}
