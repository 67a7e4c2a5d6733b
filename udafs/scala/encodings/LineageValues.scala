package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData
import org.apache.spark.unsafe.types.UTF8String

/** Questions to the bytes of one lineage value; each raises a clear error on bytes that are none. */
object LineageValues {
  private val Names = Array("set", "bdd", "roaring").map(UTF8String.fromString)
  // The largest long[] that UnsafeArrayData holds.
  private val MaxDecoded = Int.MaxValue.toLong
  private val MaxArray = (Int.MaxValue - 64) / 8

  def tag(bytes: Array[Byte]): Int = {
    if (bytes.length == 0) LineageErrors.corrupt("empty", "no byte at all", 0)
    if (bytes(0) < 0 || bytes(0) > 2) LineageErrors.corrupt("tag", s"unknown encoding ${bytes(0) & 0xff}", 0)
    bytes(0)
  }

  private def body(bytes: Array[Byte]) = new ByteReader(bytes, 1)

  /** Adds every id of `bytes` to `sink`. */
  def decode(bytes: Array[Byte], sink: IdSink): Unit = tag(bytes) match {
    case SetCodec.Tag => SetCodec.decode(body(bytes), sink)
    case BddCodec.Tag => checked(BddTable.read(body(bytes)), MaxDecoded).decode(sink)
    case _ => RoaringCodec.decode(body(bytes), sink)
  }

  private def checked(table: BddTable, most: Long): BddTable = {
    val count = table.count
    if (count < 0 || count > most)
      LineageErrors.tooLarge(s"a lineage value of ${java.lang.Long.toUnsignedString(count)} ids is too large to be listed")
    table
  }

  def single(id: Long, setting: Int): Array[Byte] = {
    if (id < 0) LineageErrors.negativeId(id)
    Encoding.single(id, setting)
  }

  def size(bytes: Array[Byte]): Long = tag(bytes) match {
    case SetCodec.Tag => SetCodec.count(body(bytes))
    case BddCodec.Tag => checked(BddTable.read(body(bytes)), Long.MaxValue).count
    case _ => RoaringCodec.count(body(bytes))
  }

  def encoding(bytes: Array[Byte]): UTF8String = Names(tag(bytes))

  /** Ids in ascending order. */
  def idArray(bytes: Array[Byte]): Array[Long] = tag(bytes) match {
    case BddCodec.Tag =>
      val table = BddTable.read(body(bytes))
      forOneArray(checked(table, Long.MaxValue).count)
      table.ids
    case _ =>
      val sink = new ArraySink(forOneArray(size(bytes)))
      decode(bytes, sink)
      sink.ids
  }

  private def forOneArray(count: Long): Int = {
    if (count > MaxArray) LineageErrors.tooLarge(s"a lineage value of $count ids is too large for one array")
    count.toInt
  }

  def ids(bytes: Array[Byte]): UnsafeArrayData = UnsafeArrayData.fromPrimitiveArray(idArray(bytes))

  def contains(bytes: Array[Byte], id: Long): Boolean = tag(bytes) match {
    case SetCodec.Tag => SetCodec.contains(body(bytes), id)
    case BddCodec.Tag => BddTable.read(body(bytes)).contains(id)
    case _ => RoaringCodec.contains(body(bytes), id)
  }

  def intersects(a: Array[Byte], b: Array[Byte]): Boolean = (tag(a), tag(b)) match {
    case (BddCodec.Tag, BddCodec.Tag) => BddTable.read(body(a)).intersects(BddTable.read(body(b)))
    case (BddCodec.Tag, _) => intersects(BddTable.read(body(a)), idArray(b))
    case (_, BddCodec.Tag) => intersects(BddTable.read(body(b)), idArray(a))
    case _ => intersects(idArray(a), idArray(b))
  }

  /** The ids that are in both, ascending. */
  def common(a: Array[Byte], b: Array[Byte]): Array[Long] = {
    val (left, right) = (idArray(a), idArray(b))
    val found = Array.newBuilder[Long]
    var (i, j) = (0, 0)
    while (i < left.length && j < right.length) {
      if (left(i) == right(j)) found += left(i)
      if (left(i) <= right(j)) i += 1 else j += 1
    }
    found.result()
  }

  private def intersects(table: BddTable, ids: Array[Long]): Boolean = {
    var i = 0
    while (i < ids.length && !table.contains(ids(i))) i += 1
    i < ids.length
  }

  private def intersects(left: Array[Long], right: Array[Long]): Boolean = {
    var i = 0
    var j = 0
    while (i < left.length && j < right.length) {
      if (left(i) == right(j)) return true
      if (left(i) < right(j)) i += 1 else j += 1
    }
    false
  }
}
