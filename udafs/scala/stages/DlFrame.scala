package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.types.{AbstractDataType, LongType}

/** dl_frame(partition, place, last, size, content): what a window frame is to a row, for `dl_relation`; see `FrameBytes`. */
case class DlFrame(children: Seq[Expression]) extends LineageConstructor {
  override protected def setting: Int = Encoding.Auto
  override def prettyName: String = "dl_frame"
  override def inputTypes: Seq[AbstractDataType] = Seq.fill(5)(LongType)
  override protected def newOp: Op[Array[AnyRef], Array[Byte]] = FrameOp
  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): DlFrame = copy(newChildren)
}

private object FrameOp extends Op[Array[AnyRef], Array[Byte]] {
  override def apply(arguments: Array[AnyRef]): Array[Byte] = {
    val Array(partition, place, last, size, content) = arguments.map {
      case null => 0L // of a frame without rows
      case value => value.asInstanceOf[Long]
    }
    FrameBytes(partition, place, last, size, content)
  }
}
