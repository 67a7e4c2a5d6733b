package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, AttributeSet, Expression, NamedExpression}
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight}
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._

/**
 * Whether the rows of a plan will stand in the same task where they agree in some columns, because of an exchange that it has anyway.
 *
 * It is a guess at what Spark will plan: an operator that needs rows clustered says so, and where the guess is wrong Spark adds
 * an exchange.
 */
private object ClusteredRows {

  /** By a part of these columns, that is by all of them. */
  def by(columns: AttributeSet, plan: LogicalPlan): Boolean = plan match {
    case Project(list, child) => by(columns ++ AttributeSet(list.collect { case Renamed(source, name) if columns.contains(name) => source }), child)
    case Filter(_, child) => by(columns, child)
    case grouping: Aggregate => areIn(columns, grouping.groupingExpressions)
    case window: Window => areIn(columns, window.partitionSpec)
    case join: Join => ofJoin(columns, join)
    case _ => false
  }

  private object Renamed {
    def unapply(column: NamedExpression): Option[(Attribute, Attribute)] = column match {
      case alias @ Alias(source: Attribute, _) => Some((source, alias.toAttribute))
      case _ => None
    }
  }

  private def ofJoin(columns: AttributeSet, join: Join): Boolean = join match {
    case ExtractEquiJoinKeys(kind, leftKeys, rightKeys, _, _, left, right, JoinHint.NONE) =>
      WeightlessLineage.side(join) match {
        case Some(BuildLeft) => by(columns, right)
        case Some(BuildRight) => by(columns, left)
        case None => keepsLeft(kind) && areIn(columns, leftKeys) || keepsRight(kind) && areIn(columns, rightKeys)
      }
    case _ => false
  }

  /** Whether rows stand where those of that side do: the others have NULLs there. */
  private def keepsLeft(kind: JoinType): Boolean = kind match {
    case _: InnerLike | LeftOuter | LeftSemi | LeftAnti => true
    case _ => false
  }

  private def keepsRight(kind: JoinType): Boolean = kind match {
    case _: InnerLike | RightOuter => true
    case _ => false
  }

  private def areIn(columns: AttributeSet, keys: Seq[Expression]): Boolean = keys.nonEmpty && keys.forall {
    case key: Attribute => columns.contains(key)
    case _ => false
  }
}
