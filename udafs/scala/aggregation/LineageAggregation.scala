package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, AttributeSet, Expression, NamedExpression, SessionWindow}
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.optimizer.NormalizeFloatingNumbers
import org.apache.spark.sql.catalyst.planning.PhysicalAggregation
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{ProjectExec, SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.aggregate.HashAggregateExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{Decimal, DecimalType}

/**
 * Plans a grouping with `dlunion` as hash aggregation with generated code.
 *
 * Spark plans aggregates whose buffer is an object with `ObjectHashAggregateExec`, which begins to sort all rows at the
 * 129th group and generates no code. Here the buffer is a handle instead (`PooledUnion`):
 *
 *   HashAggregate(keys, ..., dlunion over the partial values)    final for the others, complete for ours
 *     Exchange                                                   (Spark adds it)
 *       Project(keys, ..., handle -> partial value)
 *         HashAggregate(keys, ..., handles)                      partial
 *
 * Behind a join, say, that has brought the rows of a group together already there is the final step alone, over rows: nothing would come between
 * the two, and sets would be written and read again.
 *
 * Of groups that have one fragment each (`OneFragment`) it is a number, among the others.
 *
 * Beside aggregates of one DISTINCT the rows are grouped by its arguments first, as Spark does it, and the partial step comes
 * three times: by keys and arguments, again behind an exchange, then by keys.
 *
 * Where it does not apply (session windows, streams, other object aggregates beside it, `dlunion(DISTINCT …)`) Spark's own
 * strategy plans `DlUnion` as it stands, with equal results. So it does beside many sums of wide decimals, as in TPC-H Q1: in
 * the fixed-width buffer of a hash aggregation each is read and written as a BigInteger for every row, in an object buffer it
 * is not, and then the object aggregation is the faster one (Q1: 0.65 of the CPU time without lineage, against 0.99).
 */
object LineageAggregation extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case PhysicalAggregation(keys, aggregates, results, child) if enabled && !plan.isStreaming && applies(keys, aggregates) =>
      val (distinct, others) = aggregates.partition(_.isDistinct)
      val (all, plain) = others.partition(_.aggregateFunction.isInstanceOf[DlUnion])
      val (single, unions) = all.partition(OneFragment.of(_, keys, child))
      val one = single.map(e => (e.aggregateFunction.asInstanceOf[DlUnion], e.resultAttribute, OneFragment.least(e)))
      val start = Step(keys.map(normalized), unions, plain ++ one.map(_._3), planLater(child))
      val before =
        if (distinct.nonEmpty) beside(distinct, start)
        else if (ClusteredRows.by(AttributeSet(keys.map(_.toAttribute)), child)) start
        else start.partial
      before.complete(OneFragment.asSets(results, one)) :: Nil
    case _ => Nil
  }

  /** Off, `DlUnion` runs as Spark plans it: to compare the two. */
  private val Key = "spark.forward_lineage.hash_aggregation"

  private def enabled: Boolean = SQLConf.get.getConfString(Key, "true").toBoolean

  private def applies(keys: Seq[NamedExpression], aggregates: Seq[AggregateExpression]): Boolean =
    !keys.exists(_.metadata.contains(SessionWindow.marker)) && {
      val (unions, others) = aggregates.partition(_.aggregateFunction.isInstanceOf[DlUnion])
      unions.nonEmpty && !unions.exists(_.isDistinct) && others.forall(_.aggregateFunction.isInstanceOf[DeclarativeAggregate]) && {
        val buffers = others.flatMap(_.aggregateFunction.aggBufferAttributes)
        val arguments = others.filter(_.isDistinct).flatMap(distinctArguments)
        Planning.supportsHashAggregate(buffers, keys ++ arguments) && buffers.count(isWideDecimal) < ManyWideDecimals
      }
    }

  private val ManyWideDecimals = 4

  private def isWideDecimal(buffer: Attribute): Boolean = buffer.dataType match {
    case decimal: DecimalType => decimal.precision > Decimal.MAX_LONG_DIGITS
    case _ => false
  }

  /** -0.0 and NaN keys, as Spark's own strategy has them. */
  private def normalized(key: NamedExpression): NamedExpression = NormalizeFloatingNumbers.normalize(key) match {
    case named: NamedExpression => named
    case other => Alias(other, key.name)(exprId = key.exprId)
  }

  private def distinctArguments(e: AggregateExpression): Seq[Expression] = e.aggregateFunction.children.filterNot(_.foldable)

  /** Plans the aggregates of one DISTINCT beside the others; of several Spark makes plain aggregates before it plans. */
  private def beside(distinct: Seq[AggregateExpression], start: Step): Step = {
    val arguments = distinctArguments(distinct.head)
    val named = arguments.map(e => normalized(e match {
      case name: NamedExpression => name
      case other => Alias(other, other.toString)()
    }))
    val attributeOf = arguments.map(_.canonicalized).zip(named.map(_.toAttribute)).toMap
    val once = distinct.map { e =>
      val function = e.aggregateFunction.mapChildren(child => attributeOf.getOrElse(child.canonicalized, child))
      e.copy(aggregateFunction = function.asInstanceOf[AggregateFunction])
    }
    val keys = start.keys.map(_.toAttribute)
    val apart = start.copy(keys = start.keys ++ named).partial.exchanged.partial
    apart.copy(keys = keys, fresh = once).partial
  }

  /**
   * A state of the aggregation on its way.
   *
   * @param keys what the next step groups by
   * @param unions ours, over row ids or over the partial values of the step before
   * @param others aggregates with buffers of fixed width, partial results of which are columns of `child`; at first its rows
   * @param child rows: keys, then partial values, then buffers
   * @param clustered what the next step needs rows to be clustered by; None: nothing
   * @param merging whether the others merge buffers of the step before
   * @param fresh aggregates that begin with the next step
   */
  private case class Step(
      keys: Seq[NamedExpression],
      unions: Seq[AggregateExpression],
      others: Seq[AggregateExpression],
      child: SparkPlan,
      clustered: Option[Seq[Attribute]] = None,
      merging: Boolean = false,
      fresh: Seq[AggregateExpression] = Nil) {

    private def attributes: Seq[Attribute] = keys.map(_.toAttribute)

    def exchanged: Step = copy(clustered = Some(attributes))

    /** Behind a step whose results are partial: a handle is no use to another task, the bytes of its group are. */
    def partial: Step = {
      val ours = pooled(Partial)
      val running = others.map(_.copy(mode = if (merging) PartialMerge else Partial)) ++ fresh.map(_.copy(mode = Partial))
      val all = ours ++ running
      val handles = hashed(all, bufferOf(all), attributes ++ resultOf(all))
      val values = ours.map(e => Alias(PoolValue(resultOf(Seq(e)).head, pooledUnion(e).key, None), "dl")())
      Step(
        keys = attributes,
        unions = unions.zip(values).map { case (e, value) =>
          e.copy(aggregateFunction = union(e).copy(child = value.toAttribute), filter = None)
        },
        others = running.map(_.copy(filter = None)),
        child = ProjectExec(attributes ++ values ++ resultOf(running), handles),
        merging = true)
    }

    /** The last step. */
    def complete(results: Seq[NamedExpression]): SparkPlan = {
      val all = pooled(Complete) ++ others.map(_.copy(mode = if (merging) Final else Complete))
      exchanged.hashed(all, all.map(_.resultAttribute), results)
    }

    private def pooled(mode: AggregateMode): Seq[AggregateExpression] = unions.map { e =>
      val pooled = PooledUnion(union(e).child, NamedExpression.newExprId.id, union(e).setting)
      e.copy(aggregateFunction = pooled, mode = mode)
    }

    private def union(e: AggregateExpression): DlUnion = e.aggregateFunction.asInstanceOf[DlUnion]

    private def pooledUnion(e: AggregateExpression): PooledUnion = e.aggregateFunction.asInstanceOf[PooledUnion]

    private def bufferOf(all: Seq[AggregateExpression]): Seq[Attribute] = all.flatMap(_.aggregateFunction.aggBufferAttributes)

    /** Columns of the partial results. */
    private def resultOf(all: Seq[AggregateExpression]): Seq[Attribute] = all.flatMap(_.aggregateFunction.inputAggBufferAttributes)

    private def hashed(
        aggregates: Seq[AggregateExpression],
        outcome: Seq[Attribute],
        results: Seq[NamedExpression]): SparkPlan =
      HashAggregateExec(
        requiredChildDistributionExpressions = clustered,
        isStreaming = false,
        numShufflePartitions = None,
        groupingExpressions = keys,
        aggregateExpressions = aggregates,
        aggregateAttributes = outcome,
        // Buffers that are merged stand at the end of the rows.
        initialInputBufferOffset = if (merging) child.output.length - bufferOf(others).length else 0,
        resultExpressions = results,
        child = child)
  }
}
