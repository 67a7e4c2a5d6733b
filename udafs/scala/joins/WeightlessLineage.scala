package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildSide}
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.util._
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources.LogicalRelation

/**
 * Broadcasts the side of a join that Spark would broadcast of the query as the user wrote it, and no table that it would not.
 *
 * Spark guesses the size of a side by the width of its columns, and `__dl_…` is one more: of a key alone it makes half as much
 * again. A side that was just small enough is not, and then both sides are shuffled and sorted, as many rows as they have
 * (TPC-H Q8, scale factor 10: 60 million of `lineitem`, 1.7 of the query's time). What is broadcast instead is at most so much
 * larger than Spark's limit as the lineage is wider than the rest.
 *
 * Ids by position make a scan wider by `_metadata`, so that the few columns that are read of it are a smaller part of its bytes, and
 * what was too large seems small enough (TPC-H Q13: 1.5 million of `orders`). A grouping that seems so is broadcast all the same: Spark
 * guesses that it has as many rows as it reads, which is far too many.
 *
 * Of an Iceberg table Spark is told how many rows there are, and makes of them what they take unpacked, where of our scan of the same
 * files it knows their packed bytes. So such a scan counts as Iceberg's does: rows, times the widths of the columns that are read.
 */
object WeightlessLineage extends SparkStrategy {
  private val NoHashTable = Some(HintInfo(Some(NO_BROADCAST_HASH)))
  private val AllPairs = Some(HintInfo(Some(SHUFFLE_REPLICATE_NL)))

  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case join @ Join(_, _, _, _, JoinHint.NONE) if carriesLineage(join) =>
      val found = Planning.broadcastSide(join)
      (ofTheQuery(join, found), found) match {
        case (Some(wanted), found) if !found.contains(wanted) => planned(join.copy(hint = asked(wanted)))
        case (None, Some(_)) => planned(join.copy(hint = JoinHint(apart(join), apart(join))))
        case _ => Nil
      }
    case _ => Nil
  }

  /** How Spark joins what it does not broadcast: a join without keys takes each part of one side with each of the other. */
  private def apart(join: Join): Option[HintInfo] = if (ExtractEquiJoinKeys.unapply(join).isDefined) NoHashTable else AllPairs

  /** The side of a join without hints that will be broadcast, because it is small enough. */
  def side(join: Join): Option[BuildSide] = {
    val found = Planning.broadcastSide(join)
    if (carriesLineage(join)) ofTheQuery(join, found) else found
  }

  private def ofTheQuery(join: Join, found: Option[BuildSide]): Option[BuildSide] =
    Planning.broadcastSide(join.copy(left = asWritten(join.left), right = asWritten(join.right))).orElse(
      found.filter(side => isGrouping(if (side == BuildLeft) join.left else join.right)))

  private def isGrouping(plan: LogicalPlan): Boolean = plan match {
    case Project(_, child) => isGrouping(child)
    case Filter(_, child) => isGrouping(child)
    case exchange: RepartitionOperation => isGrouping(exchange.child) // of a stage, see `OnceRead`
    case stage: EvaluatedOnce => isGrouping(stage.child)
    case _ => plan.isInstanceOf[Aggregate]
  }

  private def carriesLineage(join: Join): Boolean = join.children.exists(_.output.exists(HiddenColumns.is))

  private def planned(join: Join): Seq[SparkPlan] = SparkSession.active.sessionState.planner.JoinSelection(join)

  private def asked(side: BuildSide): JoinHint = {
    val hint = Some(HintInfo(Some(BROADCAST)))
    if (side == BuildLeft) JoinHint(hint, None) else JoinHint(None, hint)
  }

  private def asWritten(plan: LogicalPlan): LogicalPlan = withoutMetadata(without(counted(plan)))

  private def counted(plan: LogicalPlan): LogicalPlan = plan.transform {
    case project @ Project(list, scan) if Scans.isScan(scan) =>
      val conditions = Scans.conditions(scan)
      val positions = (list ++ conditions).flatMap(_.collect { case position: RowPosition => position })
      val read = AttributeSet(list.filterNot(HiddenColumns.is) ++ conditions)
      positions.headOption.flatMap(_.files.rowsPerByte).fold[LogicalPlan](project) { rowsPerByte =>
        project.copy(child = scan.transform { case relation: LogicalRelation =>
          val columns = relation.output.filter(column => read.contains(column) && !column.isMetadataCol)
          CountedRows(columns, relation.relation.sizeInBytes * rowsPerByte)
        })
      }
  }

  /**
   * Scans as wide as they are without `_metadata` and what else the user does not see. A query that reads some of it itself keeps all
   * that is read, ours, too.
   */
  private def withoutMetadata(plan: LogicalPlan): LogicalPlan = {
    val read = AttributeSet.fromAttributeSets(plan.collect { case each => each.references })
    plan.transform { case relation: LogicalRelation =>
      relation.copy(output = relation.output.filter(column => !(column.isMetadataCol || isOfDelta(column)) || read.contains(column)))
    }
  }

  /** Columns that Delta keeps ids and versions of moved rows in, and shows to nobody. */
  private def isOfDelta(column: Attribute): Boolean =
    column.name.startsWith("_row-id-col-") || column.name.startsWith("_row-commit-version-col-")

  /** The plan as it is guessed at without lineage; not one that runs: what needs a column that is gone is left in. */
  private def without(plan: LogicalPlan): LogicalPlan = {
    val children = plan.children.map(without)
    plan match {
      case NewerPlans.Recursive(_, _, _, _) => plan // what a step reads of the one before has all columns
      case project: Project => project.copy(project.projectList.filterNot(HiddenColumns.is), children.head)
      case aggregate: Aggregate =>
        aggregate.copy(aggregateExpressions = aggregate.aggregateExpressions.filterNot(HiddenColumns.is), child = children.head)
      case union: Union if children.map(_.output.size).distinct.size > 1 => union // one side has other names for it
      case other => other.withNewChildren(children)
    }
  }
}

/** A scan that is guessed at by its rows, and never runs. */
private final case class CountedRows(output: Seq[Attribute], rows: Double) extends LeafNode {
  override def computeStats(): Statistics = Statistics(BigDecimal(rows * output.map(_.dataType.defaultSize.toLong).sum).toBigInt)
}
