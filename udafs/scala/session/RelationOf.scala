package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.sources.BaseRelation

/** What a leaf of a plan reads, and the table that it is; the leaf itself has more fields with each version of Spark. */
private object RelationOf {
  def unapply(leaf: LogicalRelation): Some[(BaseRelation, Option[CatalogTable])] = Some((leaf.relation, leaf.catalogTable))
}
