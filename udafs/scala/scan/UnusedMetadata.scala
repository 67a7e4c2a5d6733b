package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions.{AttributeSet, FileSourceMetadataAttribute}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.LogicalRelation

/**
 * Takes `_metadata` out of scans that nobody asks for it: where a query reads a traced relation without its lineage, Spark would
 * build the struct of every row all the same, once the name is resolved.
 */
object UnusedMetadata extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case Project(list, scan) if Scans.isScan(scan) =>
      val used = AttributeSet(list ++ Scans.conditions(scan))
      Project(list, scan.transformUp { case relation: LogicalRelation =>
        val idle = relation.output.filter(each => FileSourceMetadataAttribute.isValid(each.metadata) && !used.contains(each))
        if (idle.isEmpty) relation else relation.copy(output = relation.output.diff(idle))
      })
  }
}
