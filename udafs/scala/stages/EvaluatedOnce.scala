package org.apache.spark.sql.forwardlineage

import java.util.concurrent.atomic.AtomicLong

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference, ExprId, SortOrder}
import org.apache.spark.sql.catalyst.plans.logical.{CTERelationDef, LogicalPlan, Statistics, Subquery, UnaryNode}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.CTE
import org.apache.spark.sql.execution.{LeafExecNode, SparkPlan, SparkStrategy, UnaryExecNode}
import org.apache.spark.sql.types.DataType

/**
 * The rows of a stage, which are computed once for all that read them.
 *
 * Where a stage is read, Spark puts an exchange of a copy of it, and sends rows through one exchange for all copies if these are planned
 * alike. They are not always: adaptive execution plans each anew, with what it knows at that moment, and joins from another side then. Of
 * a window whose order leaves rows equal, two plans give two results, and a row of the one is not found in the other.
 *
 * So a copy says whose it is: to be planned alike is to be of the same stage.
 *
 * @param stage a number that no other stage of the process has
 */
case class EvaluatedOnce(stage: Long, child: LogicalPlan) extends UnaryNode {
  override def output: Seq[Attribute] = child.output
  override def maxRows: Option[Long] = child.maxRows
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering
  override def stats: Statistics = child.stats
  override protected def withNewChildInternal(newChild: LogicalPlan): EvaluatedOnce = copy(child = newChild)
}

/** Marks the stages that stay apart when all that can be has been put where it is read. */
object EvaluatedOnce extends Rule[LogicalPlan] {
  private val stages = new AtomicLong

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case _: Subquery => plan
    case _ if plan.containsPattern(CTE) =>
      plan.transformDownWithSubqueries {
        case stage: CTERelationDef if !isMarked(stage.child) && stage.output.exists(HiddenColumns.is) =>
          stage.copy(child = EvaluatedOnce(stages.incrementAndGet(), stage.child))
      }
    case _ => plan
  }

  private def isMarked(rows: LogicalPlan): Boolean = rows.isInstanceOf[EvaluatedOnce]
}

case class EvaluatedOnceExec(stage: Long, child: SparkPlan) extends UnaryExecNode {
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering
  override protected def doExecute(): RDD[InternalRow] = child.execute()
  override protected def doCanonicalize(): SparkPlan = AnyCopy(stage, output.map(_.dataType))
  override protected def withNewChildInternal(newChild: SparkPlan): EvaluatedOnceExec = copy(child = newChild)
}

/** What plans of copies of a stage are to Spark when it compares them. */
private case class AnyCopy(stage: Long, types: Seq[DataType]) extends LeafExecNode {
  override def output: Seq[Attribute] =
    types.zipWithIndex.map { case (kind, place) => AttributeReference("none", kind)(ExprId(place)) }
  override protected def doExecute(): RDD[InternalRow] = throw new UnsupportedOperationException("it is there to be compared")
}

object EvaluatedOncePlanning extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case EvaluatedOnce(stage, child) => Seq(EvaluatedOnceExec(stage, planLater(child)))
    case _ => Nil
  }
}
