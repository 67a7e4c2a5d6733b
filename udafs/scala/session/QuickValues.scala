package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, AttributeSet, Expression, NamedExpression}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.rules.Rule

/**
 * dl_quick(expr): the same value; the functions in it that make lineage values are told to make quick ones (`Encoding.Quick`).
 * It is gone when the query has been analysed.
 */
private object QuickValues {
  def apply(expression: Expression): Expression = expression.transform {
    case union: DlUnion => union.copy(setting = Encoding.Quick)
    case union: DlUnionAll => union.copy(setting = Encoding.Quick)
    case composed: DlCompose => composed.copy(setting = Encoding.Quick)
  }

  def makes(expression: Expression): Boolean = expression match {
    case _: DlUnion | _: DlUnionAll | _: DlCompose => true
    case _ => false
  }
}

/**
 * The answers to questions about a lineage value do not depend on its encoding: one that is made for a question is a quick one.
 * So is one that a grouping makes for a question right above it. One that is also wanted for itself stays as it is, so that
 * both go on being one value, made once.
 */
object QuickQuestions extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case project @ Project(above, Handed(grouping)) =>
      val quick = quickFor(above, grouping)
      inNode(if (quick eq grouping) project else project.transformDown { case same if same eq grouping => quick })
    case node => inNode(node)
  }

  /** A grouping whose columns are handed on as they are. */
  private object Handed {
    def unapply(plan: LogicalPlan): Option[Aggregate] = plan match {
      case grouping: Aggregate => Some(grouping)
      case Project(columns, child) if columns.forall(_.isInstanceOf[Attribute]) => unapply(child)
      case _ => None
    }
  }

  private def inNode(node: LogicalPlan): LogicalPlan = {
    val wanted = node.expressions.flatMap(madeOutsideQuestions)
    node.transformExpressions {
      case question if asks(question) && !question.exists(made => wanted.exists(_.semanticEquals(made))) =>
        question.mapChildren(QuickValues(_))
    }
  }

  private def quickFor(above: Seq[NamedExpression], grouping: Aggregate): Aggregate = {
    val wanted = AttributeSet(above.flatMap(readOutsideQuestions))
    val (asked, others) = grouping.aggregateExpressions.partition(made => makesOne(made) && !wanted.contains(made.toAttribute))
    val shared = others.flatMap(madeOutsideQuestions)
    val quick = asked.filterNot(_.exists(made => shared.exists(_.semanticEquals(made))))
    if (quick.isEmpty) grouping
    else grouping.copy(aggregateExpressions = grouping.aggregateExpressions.map {
      case made if quick.contains(made) => QuickValues(made).asInstanceOf[NamedExpression]
      case other => other
    })
  }

  private def makesOne(made: NamedExpression): Boolean = made match {
    case Alias(AggregateExpression(union, _, _, _, _), _) => QuickValues.makes(union)
    case Alias(value, _) => QuickValues.makes(value)
    case _ => false
  }

  private def asks(expression: Expression): Boolean = expression match {
    case _: DlSize | _: DlIds | _: DlContains | _: DlIntersects => true
    case _ => false
  }

  private def madeOutsideQuestions(expression: Expression): Seq[Expression] =
    if (asks(expression)) Nil
    else if (QuickValues.makes(expression)) expression +: expression.children.flatMap(madeOutsideQuestions)
    else expression.children.flatMap(madeOutsideQuestions)

  /** Columns whose bytes somebody sees: not those of rows that are looked up, either. */
  private def readOutsideQuestions(expression: Expression): Seq[Attribute] = expression match {
    case column: Attribute => Seq(column)
    case composed: DlCompose => readOutsideQuestions(composed.right)
    case question if asks(question) => Nil
    case other => other.children.flatMap(readOutsideQuestions)
  }
}
