package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, NamedExpression, SessionWindow}
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, Complete, DeclarativeAggregate, Final, Partial}
import org.apache.spark.sql.catalyst.optimizer.NormalizeFloatingNumbers
import org.apache.spark.sql.catalyst.planning.PhysicalAggregation
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan}
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
 * Where it does not apply (DISTINCT aggregates, session windows, streams, other object aggregates beside it) Spark's own
 * strategy plans `DlUnion` as it stands, with equal results. So it does beside many sums of wide decimals, as in TPC-H Q1: in
 * the fixed-width buffer of a hash aggregation each is read and written as a BigInteger for every row, in an object buffer it
 * is not, and then the object aggregation is the faster one (Q1: 0.65 of the CPU time without lineage, against 0.99).
 */
object LineageAggregation extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case PhysicalAggregation(keys, aggregates, results, child) if enabled && !plan.isStreaming && applies(keys, aggregates) =>
      aggregate(keys.map(normalized), aggregates, results, child) :: Nil
    case _ => Nil
  }

  /** Off, `DlUnion` runs as Spark plans it: to compare the two. */
  private val Key = "spark.forward_lineage.hash_aggregation"

  private def enabled: Boolean = SQLConf.get.getConfString(Key, "true").toBoolean

  private def applies(keys: Seq[NamedExpression], aggregates: Seq[AggregateExpression]): Boolean =
    !aggregates.exists(_.isDistinct) && !keys.exists(_.metadata.contains(SessionWindow.marker)) && {
      val (unions, others) = aggregates.map(_.aggregateFunction).partition(_.isInstanceOf[DlUnion])
      unions.nonEmpty && others.forall(_.isInstanceOf[DeclarativeAggregate]) && {
        val buffers = others.flatMap(_.aggBufferAttributes)
        Aggregate.supportsHashAggregate(buffers, keys) && buffers.count(isWideDecimal) < ManyWideDecimals
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

  private def aggregate(
      keys: Seq[NamedExpression],
      aggregates: Seq[AggregateExpression],
      results: Seq[NamedExpression],
      child: LogicalPlan): SparkPlan = {
    val partials = aggregates.map(e => e.copy(aggregateFunction = pooled(e), mode = Partial))
    val keyAttributes = keys.map(_.toAttribute)
    val below = HashAggregateExec(
      requiredChildDistributionExpressions = None,
      isStreaming = false,
      numShufflePartitions = None,
      groupingExpressions = keys,
      aggregateExpressions = partials,
      aggregateAttributes = partials.flatMap(_.aggregateFunction.aggBufferAttributes),
      initialInputBufferOffset = 0,
      resultExpressions = keyAttributes ++ partials.flatMap(_.aggregateFunction.inputAggBufferAttributes),
      child = planLater(child))
    val values = partials.map(valueOf)
    // The final aggregation takes the buffers of the others from the end of its input.
    val (ours, others) = values.flatten.partition(_.isInstanceOf[Alias])
    val travelling = ProjectExec(keyAttributes ++ ours ++ others, below)
    val finals = aggregates.zip(partials).zip(values).map { case ((original, partial), value) =>
      partial.aggregateFunction match {
        case union: PooledUnion =>
          val again = union.copy(child = value.head.toAttribute, key = NamedExpression.newExprId.id)
          original.copy(aggregateFunction = again, mode = Complete, filter = None)
        case _ => original.copy(mode = Final, filter = None)
      }
    }
    HashAggregateExec(
      requiredChildDistributionExpressions = Some(keyAttributes),
      isStreaming = false,
      numShufflePartitions = None,
      groupingExpressions = keyAttributes,
      aggregateExpressions = finals,
      aggregateAttributes = finals.map(_.resultAttribute),
      initialInputBufferOffset = keys.length + ours.length,
      resultExpressions = results,
      child = travelling)
  }

  private def pooled(e: AggregateExpression) = e.aggregateFunction match {
    case union: DlUnion => PooledUnion(union.child, NamedExpression.newExprId.id, union.setting)
    case other => other
  }

  /** What of an aggregate goes through the exchange. */
  private def valueOf(e: AggregateExpression): Seq[NamedExpression] = e.aggregateFunction match {
    case union: PooledUnion =>
      Alias(PoolValue(union.inputAggBufferAttributes.head, union.key, None), "dl")() :: Nil
    case other => other.inputAggBufferAttributes
  }
}
