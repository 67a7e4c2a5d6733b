package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData
import org.apache.spark.unsafe.types.UTF8String

/** Questions to the bytes of one lineage value; each raises a clear error on bytes that are none. */
object LineageValues {
  private val Names = Array("set", "bdd", "roaring").map(UTF8String.fromString)
  // The largest long[] that UnsafeArrayData holds.
  private val MaxArray = (Int.MaxValue - 64) / 8

  def tag(bytes: Array[Byte]): Int = {
    if (bytes.length == 0) LineageErrors.corrupt("no byte at all", 0)
    if (bytes(0) < 0 || bytes(0) > 2) LineageErrors.corrupt(s"unknown encoding tag ${bytes(0) & 0xff}", 0)
    bytes(0)
  }

  /** Adds every id of `bytes` to `sink`. */
  def decode(bytes: Array[Byte], sink: IdSink): Unit = tag(bytes) match {
    case SetCodec.Tag => SetCodec.decode(new ByteReader(bytes, 1), sink)
    case RoaringCodec.Tag => RoaringCodec.decode(new ByteReader(bytes, 1), sink)
    case other => LineageErrors.corrupt(s"unknown encoding tag $other", 0)
  }

  def single(id: Long, setting: Int): Array[Byte] = {
    if (id < 0) LineageErrors.negativeId(id)
    Encoding.single(id, setting)
  }

  def size(bytes: Array[Byte]): Long = tag(bytes) match {
    case SetCodec.Tag => SetCodec.readCount(new ByteReader(bytes, 1))
    case RoaringCodec.Tag => RoaringCodec.count(new ByteReader(bytes, 1))
    case other => LineageErrors.corrupt(s"unknown encoding tag $other", 0)
  }

  def encoding(bytes: Array[Byte]): UTF8String = Names(tag(bytes))

  /** Ids in ascending order. */
  def idArray(bytes: Array[Byte]): Array[Long] = {
    val count = size(bytes)
    if (count > MaxArray) LineageErrors.tooLarge(s"a lineage value of $count ids does not fit into one array")
    val sink = new ArraySink(count.toInt)
    decode(bytes, sink)
    sink.ids
  }

  def ids(bytes: Array[Byte]): UnsafeArrayData = UnsafeArrayData.fromPrimitiveArray(idArray(bytes))

  def contains(bytes: Array[Byte], id: Long): Boolean = tag(bytes) match {
    case SetCodec.Tag => SetCodec.contains(new ByteReader(bytes, 1), id)
    case _ => idArray(bytes).contains(id)
  }

  def intersects(a: Array[Byte], b: Array[Byte]): Boolean = {
    val left = idArray(a)
    val right = idArray(b)
    var i = 0
    var j = 0
    while (i < left.length && j < right.length) {
      if (left(i) == right(j)) return true
      if (left(i) < right(j)) i += 1 else j += 1
    }
    false
  }
}
