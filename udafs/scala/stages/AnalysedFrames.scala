package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.expressions.{Alias, Expression, TaggingExpression}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.types.{DataType, Metadata, StructType}

import Sessions.{Dataset, SparkSession}

/**
 * DataFrames over plans that are analysed, with something on top that leaves nothing to resolve. Spark would check all that is below once
 * more, each CTE put in wherever it is read: of a query with stages about as much as analysing its text.
 */
private object AnalysedFrames {

  def frame(session: SparkSession, plan: LogicalPlan): Dataset[Row] = {
    plan.setAnalyzed()
    Dataset.ofRows(session, plan)
  }

  /** What Spark's `withMetadata` gives for the last column, a struct, whose fields may then be NULL. */
  def describingLast(query: Dataset[Row], metadata: String): Dataset[Row] = {
    val plan = query.queryExecution.analyzed
    val last = plan.output.last
    val described = Alias(NullableFields(last), last.name)(explicitMetadata = Some(Metadata.fromJson(metadata)))
    frame(query.sparkSession, Project(plan.output.init :+ described, plan))
  }
}

/**
 * A struct as it is, of which nobody is told that its fields are never NULL.
 *
 * An outer join makes NULL of the whole struct. Arrow then finds NULL in fields that are said to have none, and `toArrow` fails.
 */
private case class NullableFields(child: Expression) extends TaggingExpression {

  override def dataType: DataType =
    child.dataType match {
      case struct: StructType => StructType(struct.map(_.copy(nullable = true)))
      case other => other
    }

  override protected def withNewChildInternal(newChild: Expression): Expression = copy(child = newChild)
}
