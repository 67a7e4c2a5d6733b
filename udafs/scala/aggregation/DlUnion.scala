package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, ExpectsInputTypes, Expression, Literal}
import org.apache.spark.sql.catalyst.expressions.aggregate.{ImperativeAggregate, TypedImperativeAggregate}
import org.apache.spark.sql.catalyst.trees.UnaryLike
import org.apache.spark.sql.types.{AbstractDataType, BinaryType, DataType, LongType, TypeCollection}

/**
 * DLUNION, the union of the lineage of every row of a group.   [Zhang 2007, §3.3, aggregation]
 *
 * Input: row ids (BIGINT) or lineage values (BINARY, any encoding).  Output: BINARY, never NULL.
 * Nulls: ignored; a group without rows, or with NULLs only, has the empty lineage.
 * Errors: a negative id; bytes that are not a lineage value.
 *
 * @param setting how the result is encoded (`Encoding`); partial results have a form of their own (`UnionState`)
 */
case class DlUnion(
    child: Expression,
    setting: Int,
    mutableAggBufferOffset: Int = 0,
    inputAggBufferOffset: Int = 0)
    extends TypedImperativeAggregate[UnionState]
    with ExpectsInputTypes
    with UnaryLike[Expression] {

  override def prettyName: String = "dlunion"
  override def inputTypes: Seq[AbstractDataType] = TypeCollection(LongType, BinaryType) :: Nil
  override def dataType: DataType = BinaryType
  override def nullable: Boolean = false
  // Where Spark takes an aggregation over no rows apart (correlated subqueries, several DISTINCT), it would say NULL.
  override def defaultResult: Option[Literal] = Some(Literal(Encoding.empty(setting), BinaryType))
  // The setting is not part of the SQL text.
  override def flatArguments: Iterator[Any] = Iterator(child)
  override def stringArgs: Iterator[Any] = Iterator(child)

  override def createAggregationBuffer(): UnionState = new UnionState

  // After binding the child is nearly always a column of the input row: read it without boxing.
  @transient private lazy val ordinal: Int = child match {
    case BoundReference(ordinal, _, _) => ordinal
    case _ => -1
  }
  @transient private lazy val takesIds: Boolean = child.dataType == LongType

  override def update(state: UnionState, row: InternalRow): UnionState = {
    if (ordinal >= 0) {
      if (!row.isNullAt(ordinal)) {
        if (takesIds) state.addId(row.getLong(ordinal)) else state.addValue(row.getBinary(ordinal))
      }
    } else {
      val value = child.eval(row)
      if (value != null) {
        if (takesIds) state.addId(value.asInstanceOf[Long]) else state.addValue(value.asInstanceOf[Array[Byte]])
      }
    }
    state
  }

  override def merge(state: UnionState, other: UnionState): UnionState = {
    state.addAll(other)
    state
  }

  override def eval(state: UnionState): Any = state.result(setting)
  override def serialize(state: UnionState): Array[Byte] = state.toPartial
  override def deserialize(bytes: Array[Byte]): UnionState = new UnionState(bytes)

  override def withNewMutableAggBufferOffset(offset: Int): ImperativeAggregate = copy(mutableAggBufferOffset = offset)
  override def withNewInputAggBufferOffset(offset: Int): ImperativeAggregate = copy(inputAggBufferOffset = offset)
  override protected def withNewChildInternal(newChild: Expression): DlUnion = copy(child = newChild)
}
