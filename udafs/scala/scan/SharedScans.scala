package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.LogicalRelation

/**
 * Lets small tables that are read with and without ids be read once.
 *
 * Spark broadcasts a table once that several joins need, if all need the same columns. Of a table that a query joins and one
 * of its subqueries joins again, often only the query has lineage, and the id is the difference. So the others get it as
 * well, and drop it behind the join:
 *
 *   Join(…, Project(key))        Project(…)
 *                           ->     Join(…, Project(key, dl_row_id(_metadata)))
 *
 * Must run last: Spark's column pruning, which follows the rules of `spark.sql.extensions`, takes the id away again.
 */
object SharedScans extends Rule[LogicalPlan] with PredicateHelper {
  override def apply(plan: LogicalPlan): LogicalPlan = {
    val traced = plan.collectWithSubqueries { case join: Join => join.children.flatMap(Side.of).filter(_.isTraced) }.flatten
    if (traced.isEmpty) plan
    else plan.transformUpWithSubqueries { case join: Join =>
      val Seq(left, right) = join.children.map(wider(_, traced))
      val wide = join.copy(left = left, right = right)
      if (wide.output == join.output) wide else Project(join.output, wide)
    }
  }

  private def wider(plan: LogicalPlan, traced: Seq[Side]): LogicalPlan =
    Side.of(plan).filterNot(_.isTraced).flatMap(narrow => traced.collectFirst(Function.unlift(narrow.as))).getOrElse(plan)

  /** One side of a join: a scan that is small enough to be broadcast. */
  private case class Side(list: Seq[NamedExpression], scan: LogicalPlan) {
    private val relation: LogicalRelation = scan.collectFirst { case relation: LogicalRelation => relation }.get
    private val conditions: Seq[Expression] = scan.collect { case Filter(each, _) => splitConjunctivePredicates(each) }.flatten

    def isTraced: Boolean = list.exists(_.exists(_.isInstanceOf[RowPosition]))

    /** This side with the columns of another in their order, if it then is the same as the other. */
    def as(other: Side): Option[LogicalPlan] = {
      val own = other.relation.output.map(theirs => theirs.exprId -> counterpart(theirs)).toMap
      def mapped[E <: Expression](e: E): E = e.transform { case a: Attribute => own.getOrElse(a.exprId, a) }.asInstanceOf[E]
      val columns = other.list.map {
        case Alias(computed, name) => Alias(mapped(computed), name)()
        case column => mapped(column)
      }
      val added = own.values.filterNot(relation.outputSet.contains).toSeq
      val whole = relation.copy(output = relation.output ++ added)
      val isSame = relation.relation == other.relation.relation &&
        added.forall(each => FileSourceMetadataAttribute.isValid(each.metadata)) &&
        list.forall(column => columns.exists(_.semanticEquals(column))) &&
        ExpressionSet(conditions) == ExpressionSet(other.conditions.map(mapped(_)))
      if (isSame) Some(Project(columns, scan.transformUp { case _: LogicalRelation => whole })) else None
    }

    private def counterpart(theirs: AttributeReference): AttributeReference =
      relation.output.find(ours => ours.name == theirs.name && ours.dataType == theirs.dataType).getOrElse(theirs.newInstance())
  }

  private object Side {
    def of(plan: LogicalPlan): Option[Side] = (plan match {
      case Project(list, scan) if Scans.isScan(scan) => Some(Side(list, scan))
      case scan if Scans.isScan(scan) => Some(Side(scan.output, scan))
      case _ => None
    }).filter(_ => plan.stats.sizeInBytes <= plan.conf.autoBroadcastJoinThreshold)
  }
}
