package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, NamedExpression}
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

/** Relations that stand in one of Spark's catalogs. */
private object CatalogRelations {
  def isNamed(plan: LogicalPlan): Boolean = plan match {
    case relation: LogicalRelation => relation.catalogTable.isDefined
    case _: HiveTableRelation => true
    case relation: DataSourceV2Relation => relation.catalog.isDefined && relation.identifier.isDefined
    case _ => false
  }

  /** Whether these are the columns of a relation as its readers see them: Spark pads those of type CHAR between the relation and its name. */
  def arePadded(columns: Seq[NamedExpression], relation: LogicalPlan): Boolean =
    columns.size == relation.output.size && columns.zip(relation.output).forall {
      case (column: Attribute, own) => column.exprId == own.exprId
      case (padded @ Alias(value, name), own) =>
        name == own.name && value.references.forall(_.exprId == own.exprId) && padded.exists(isPadding)
      case _ => false
    }

  private def isPadding(expression: Any): Boolean = expression match {
    case call: StaticInvoke => call.functionName == "readSidePadding"
    case _ => false
  }
}
