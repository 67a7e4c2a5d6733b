package org.apache.spark.sql.forwardlineage

import java.util.Arrays

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.trees.BinaryLike
import org.apache.spark.sql.types.{AbstractDataType, BinaryType, LongType, TypeCollection}

/** dl_compose(dl, relation): the union of the lineage of the rows whose numbers are in `dl`; {} for NULL. */
case class DlCompose(left: Expression, right: Expression, protected val setting: Int)
    extends LineageConstructor
    with BinaryLike[Expression] {
  override def prettyName: String = "dl_compose"
  override def inputTypes: Seq[AbstractDataType] = Seq(TypeCollection(LongType, BinaryType), BinaryType)
  override protected def newOp: Op[Array[AnyRef], Array[Byte]] = new ComposeOp(setting)
  override protected def withNewChildrenInternal(newLeft: Expression, newRight: Expression): DlCompose =
    copy(left = newLeft, right = newRight)
}

/** Looks rows up; the relation is the same for all rows of a task, and the numbers often are for several. */
final class ComposeOp(setting: Int) extends Op[Array[AnyRef], Array[Byte]] {
  // Rows of two threads may meet here; then both remember, and the later one stays.
  @transient @volatile private var reader: RelationReader = _
  @transient @volatile private var last: Composed = _

  override def apply(arguments: Array[AnyRef]): Array[Byte] = (arguments(0), arguments(1)) match {
    case (null, _) | (_, null) => Encoding.empty(setting)
    case (number: java.lang.Long, relation: Array[Byte]) => rowsOf(relation).union(Array(number.longValue), setting)
    case (numbers: Array[Byte], relation: Array[Byte]) => ofAll(numbers, relation)
  }

  private def ofAll(numbers: Array[Byte], relation: Array[Byte]): Array[Byte] = {
    val known = last
    if (known != null && (known.relation eq relation) && Arrays.equals(known.numbers, numbers)) known.result
    else {
      val found = LineageValues.idArray(numbers)
      val composed = new Composed(relation, numbers, rowsOf(relation).union(found, setting))
      last = composed
      composed.result
    }
  }

  private def rowsOf(relation: Array[Byte]): RelationReader = {
    val known = reader
    if (known != null && (known.bytes eq relation)) known
    else {
      val made = new RelationReader(relation)
      reader = made
      made
    }
  }
}

private final class Composed(val relation: Array[Byte], val numbers: Array[Byte], val result: Array[Byte])
