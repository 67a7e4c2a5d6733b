package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.expressions.Alias
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.types.Metadata

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

  /** What Spark's `withMetadata` gives for the last column. */
  def describingLast(query: Dataset[Row], metadata: String): Dataset[Row] = {
    val plan = query.queryExecution.analyzed
    val last = plan.output.last
    val described = Alias(last, last.name)(explicitMetadata = Some(Metadata.fromJson(metadata)))
    frame(query.sparkSession, Project(plan.output.init :+ described, plan))
  }
}
