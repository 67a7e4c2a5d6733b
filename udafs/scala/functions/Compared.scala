package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.analysis.TypeCheckResult
import org.apache.spark.sql.catalyst.analysis.TypeCheckResult.{TypeCheckFailure, TypeCheckSuccess}
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, Literal, RuntimeReplaceable}
import org.apache.spark.sql.catalyst.trees.{BinaryLike, UnaryLike}
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.types._

/**
 * dl_alike(key, value): true, where at most one of the keys of a grouping equals a value; else it is refused when the query is analysed.
 *
 * Spark casts what it compares, '1' and '01' to 1: several keys would then be joined to one row.
 */
case class DlAlike(left: Expression, right: Expression) extends RuntimeReplaceable with BinaryLike[Expression] {
  override def prettyName: String = "dl_alike"
  override def replacement: Expression = Literal.TrueLiteral
  override def checkInputDataTypes(): TypeCheckResult =
    if (DlAlike.areAlike(left.dataType, right.dataType)) TypeCheckSuccess
    else TypeCheckFailure(s"of ${left.dataType.sql} several values may equal one of ${right.dataType.sql}")
  override protected def withNewChildrenInternal(newLeft: Expression, newRight: Expression): DlAlike = copy(left = newLeft, right = newRight)
}

private object DlAlike {
  /** Types that are compared without making equal what differs; others only each with itself. */
  private val Families: Seq[Set[DataType]] = Seq(Set(ByteType, ShortType, IntegerType, LongType), Set(FloatType, DoubleType))

  def areAlike(one: DataType, other: DataType): Boolean =
    DataType.equalsIgnoreNullability(one, other) || Families.exists(family => family(one) && family(other))
}

/**
 * dl_moved(column): the column, to be compared in another place than the user has written; refused, when the query is analysed, where the
 * comparison would be another one there. Spark pads columns of type CHAR where it sees them compared, which is in the columns themselves.
 */
case class DlMoved(child: Expression) extends RuntimeReplaceable with UnaryLike[Expression] {
  override def prettyName: String = "dl_moved"
  override def replacement: Expression = child
  override def checkInputDataTypes(): TypeCheckResult = child match {
    case column: Attribute if CharVarcharUtils.getRawType(column.metadata).exists(_.existsRecursively(_.isInstanceOf[CharType])) =>
      TypeCheckFailure(s"${column.name} is a column of type CHAR, which Spark pads where it is compared")
    case _ => TypeCheckSuccess
  }
  override protected def withNewChildInternal(newChild: Expression): DlMoved = copy(child = newChild)
}
