package org.apache.spark.sql.forwardlineage

/**
 * A set while it is united: one group of an aggregation, or one call of dl_union.
 *
 * Partial results travel as lineage values: sorted ids, or Roaring once there are bitmaps. A group that meets one
 * partial result only, which is usual, is never decoded when the bytes already are what the setting asks for.
 */
final class UnionState(private var partial: Array[Byte]) {
  def this() = this(null)
  private var buffer: IdBuffer = _

  def addId(id: Long): Unit = {
    if (id < 0) LineageErrors.negativeId(id)
    ids.add(id)
  }

  def addValue(bytes: Array[Byte]): Unit = LineageValues.decode(bytes, ids)

  def addAll(other: UnionState): Unit =
    if (other.buffer != null) ids.addAll(other.ids)
    else if (other.partial != null) {
      if (buffer == null && partial == null) partial = other.partial
      else LineageValues.decode(other.partial, ids)
    }

  private def ids: IdBuffer = {
    if (buffer == null) buffer = new IdBuffer
    if (partial != null) {
      LineageValues.decode(partial, buffer)
      partial = null
    }
    buffer
  }

  def toPartial: Array[Byte] =
    if (buffer == null && partial != null) partial
    else {
      ids.settle()
      if (ids.hasBitmaps) RoaringCodec.encode(ids, RoaringCodec.plan(ids)) else Encoding.encode(ids, Encoding.Set)
    }

  def result(setting: Int): Array[Byte] =
    if (buffer == null && partial != null && Encoding.isFinal(partial, setting)) partial
    else {
      ids.settle()
      Encoding.encode(ids, setting)
    }
}
