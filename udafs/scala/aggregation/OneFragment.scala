package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, AttributeSet, EqualTo, Expression, NamedExpression, PredicateHelper}
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, Min}
import org.apache.spark.sql.catalyst.plans.{Inner, LeftOuter, RightOuter}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.types.LongType

/**
 * Groups all of whose rows have one number: lie in one range, by the column of the ranges or by one that is equal to it; or met
 * the one row of another relation, such as a grouping of all rows.
 *
 *   γ_{a; dlunion(dl_fragment(a))}(R)  →  γ_{a; dl_of(min(dl_fragment(a)))}(R)
 *   γ_{a; dlunion(s.id)}(R × S), |S| ≤ 1  →  γ_{a; dl_of(min(s.id))}(R × S)
 *
 * That number is all that is carried and exchanged, and no set is made of it before somebody wants one.
 * Nulls:   a row that an outer join padded has no fragment, NULL; rows whose column is NULL are a group, of fragment 0.
 * Equality: of columns as they are; what Spark takes for equal (-0.0 and 0.0) lies in one range.
 */
private object OneFragment extends PredicateHelper {

  /** Whether each group of those keys has one fragment at most of what is united. */
  def of(union: AggregateExpression, keys: Seq[NamedExpression], child: LogicalPlan): Boolean = {
    val by = AttributeSet(keys.collect { case key: Attribute => key })
    union.aggregateFunction.children match {
      case Seq(DlFragment(column: Attribute, _)) => by.contains(column)
      case Seq(id: Attribute) if id.dataType == LongType && ofOneRow(id, child) => true
      case Seq(fragment: Attribute) => by.nonEmpty && equalTo(fragment, child).exists(by.contains)
      case _ => false
    }
  }

  def least(union: AggregateExpression): AggregateExpression = union.copy(
    aggregateFunction = Min(union.aggregateFunction.children.head),
    resultId = NamedExpression.newExprId)

  /** What the grouping gives, of numbers the sets that they are to be. */
  def asSets(results: Seq[NamedExpression], one: Seq[(DlUnion, Attribute, AggregateExpression)]): Seq[NamedExpression] = {
    val sets = one.map { case (union, result, least) => result.exprId -> DlOf(least.resultAttribute, union.setting) }.toMap
    results.map(_.transform { case result: Attribute => sets.getOrElse(result.exprId, result) }.asInstanceOf[NamedExpression])
  }

  /** Whether a column comes as it is from a relation of one row at most; or it is NULL, where an outer join padded. */
  private def ofOneRow(id: Attribute, plan: LogicalPlan): Boolean = plan.maxRows.exists(_ <= 1) || (plan match {
    case Project(columns, child) => passed(AttributeSet(id), columns).nonEmpty && ofOneRow(id, child)
    case _: Filter | _: Join | _: Sort | _: RepartitionOperation | _: EvaluatedOnce =>
      plan.children.find(_.outputSet.contains(id)).exists(ofOneRow(id, _))
    case _ => false
  })

  /** The columns of a plan that are equal to what the fragment is of, in each of its rows that has a fragment. */
  private def equalTo(fragment: Attribute, plan: LogicalPlan): AttributeSet = plan match {
    case Project(columns, child) => columns.find(_.exprId == fragment.exprId) match {
      case Some(Alias(DlFragment(column: Attribute, _), _)) => passed(AttributeSet(column), columns)
      case Some(_: Attribute) => passed(equalTo(fragment, child), columns)
      case _ => AttributeSet.empty
    }
    case Filter(condition, child) => joined(equalTo(fragment, child), condition)
    case Join(left, right, kind, condition, _) =>
      val isLeft = left.outputSet.contains(fragment)
      val known = equalTo(fragment, if (isLeft) left else right)
      kind match { // a row with a fragment is none that was padded
        case Inner => condition.fold(known)(joined(known, _))
        case LeftOuter if !isLeft => condition.fold(known)(joined(known, _))
        case RightOuter if isLeft => condition.fold(known)(joined(known, _))
        case _ => known
      }
    case _: Sort | _: GlobalLimit | _: LocalLimit | _: RepartitionOperation | _: EvaluatedOnce => equalTo(fragment, plan.children.head)
    case _ => AttributeSet.empty
  }

  /** Those that a projection leaves as they are. */
  private def passed(known: AttributeSet, columns: Seq[NamedExpression]): AttributeSet =
    known.intersect(AttributeSet(columns.collect { case column: Attribute => column }))

  private def joined(known: AttributeSet, condition: Expression): AttributeSet = {
    val pairs = splitConjunctivePredicates(condition).collect { case EqualTo(a: Attribute, b: Attribute) => a -> b }
    var all = known
    var before = -1
    while (all.size > before) {
      before = all.size
      all = all ++ AttributeSet(pairs.collect {
        case (a, b) if all.contains(a) => b
        case (a, b) if all.contains(b) => a
      })
    }
    all
  }
}
