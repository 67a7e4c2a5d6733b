package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.TypeCheckResult
import org.apache.spark.sql.catalyst.expressions.{ExpectsInputTypes, Expression, Literal}
import org.apache.spark.sql.catalyst.expressions.aggregate.{ImperativeAggregate, TypedImperativeAggregate}
import org.apache.spark.sql.types.{AbstractDataType, BinaryType, DataType, LongType, TypeCollection}

/**
 * dl_relation(number, dl, frame, ...): the rows of a group as one lineage relation, for `dl_compose` to look rows up by number.
 *
 * Input: numbers (BIGINT, by `dl_number`), row ids (BIGINT) or lineage values (BINARY), NULL for the empty set, and what
 * `dl_frame` says of each window.  Output: BINARY, never NULL, only for `dl_compose` in the same query.
 */
case class DlRelation(children: Seq[Expression], mutableAggBufferOffset: Int = 0, inputAggBufferOffset: Int = 0)
    extends TypedImperativeAggregate[RelationState]
    with ExpectsInputTypes {

  override def prettyName: String = "dl_relation"
  override def inputTypes: Seq[AbstractDataType] =
    Seq(LongType, TypeCollection(LongType, BinaryType)) ++ children.drop(2).map(_ => BinaryType)
  override def checkInputDataTypes(): TypeCheckResult =
    if (children.size < 2) TypeCheckResult.TypeCheckFailure("dl_relation needs a number and a lineage")
    else super.checkInputDataTypes()
  override def dataType: DataType = BinaryType
  override def nullable: Boolean = false
  override def defaultResult: Option[Literal] = Some(Literal(createAggregationBuffer().toBytes, BinaryType))

  override def createAggregationBuffer(): RelationState =
    new RelationState(children(1).dataType == LongType, children.size - 2)

  override def update(state: RelationState, row: InternalRow): RelationState = {
    val number = children(0).eval(row).asInstanceOf[Long]
    state.add(number, children(1).eval(row), frame => checked(children(2 + frame).eval(row)))
    state
  }

  private def checked(frame: Any): Array[Byte] = frame match {
    case bytes: Array[Byte] if bytes.length == FrameBytes.Size => bytes
    case _ => LineageErrors.refuse("this is no frame that dl_frame returned.")
  }

  override def merge(state: RelationState, other: RelationState): RelationState = {
    state.addAll(other)
    state
  }

  override def eval(state: RelationState): Any = state.result
  override def serialize(state: RelationState): Array[Byte] = state.toBytes
  override def deserialize(bytes: Array[Byte]): RelationState = {
    val state = createAggregationBuffer()
    state.addAll(bytes)
    state
  }

  override def withNewMutableAggBufferOffset(offset: Int): ImperativeAggregate = copy(mutableAggBufferOffset = offset)
  override def withNewInputAggBufferOffset(offset: Int): ImperativeAggregate = copy(inputAggBufferOffset = offset)
  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): DlRelation =
    copy(children = newChildren)
}
