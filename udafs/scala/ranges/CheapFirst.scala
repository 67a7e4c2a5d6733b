package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule

/**
 * What costs a comparison is asked before a search for a range, what costs more behind it:
 *
 *   Filter(dl_in_ranges(k) AND name LIKE '…' AND day < …)  ->  Filter(day < … AND dl_in_ranges(k) AND name LIKE '…')
 *
 * A sketch cuts a table where it is read, so Spark has its test in front of the query's own. Of a row that fails one of them the
 * others need not be asked, in whatever order; what may fail is asked of no row of which the query alone would not ask it.
 */
object CheapFirst extends Rule[LogicalPlan] with PredicateHelper {
  private val MostNodes = 8

  override def apply(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case filter @ Filter(condition, _) if condition.deterministic && condition.exists(_.isInstanceOf[DlInRanges]) =>
      val asked = splitConjunctivePredicates(condition)
      val (searches, others) = asked.partition(_.isInstanceOf[DlInRanges])
      val (cheap, rest) = others.partition(isCheap)
      val ordered = cheap ++ searches ++ rest
      if (ordered == asked) filter else filter.copy(condition = ordered.reduceLeft(And(_, _)))
  }

  /** Comparisons of columns that are there as they are; no arithmetic, which may fail, and no text but for equality. */
  private def isCheap(condition: Expression): Boolean = condition.collect { case each => each }.size <= MostNodes && !condition.exists {
    case _: Attribute | _: Literal | _: BinaryComparison | _: And | _: Or | _: Not | _: IsNull | _: IsNotNull => false
    case _ => true
  }
}
