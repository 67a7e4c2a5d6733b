package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
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
}
