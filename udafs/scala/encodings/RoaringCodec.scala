package org.apache.spark.sql.forwardlineage

/**
 * Tag 02: Roaring64, portable format [https://github.com/RoaringBitmap/RoaringFormatSpec].
 *
 * Written here rather than through RoaringBitmap's classes, for two reasons: the choice of containers must be canonical
 * (FORMAT.md), and a reader of foreign bytes must check every length before it allocates.
 */
object RoaringCodec {
  /** No value with ids in so many 2^16 blocks is shorter: tag, count, high half, cookie, and each block's key and container. */
  def leastSize(blocks: Int): Long = 1 + 8 + 4 + 5 + (4 + 2L) * blocks

  /** No Roaring64 value with an id is shorter. */
  val SmallestSize: Int = leastSize(1).toInt

  def plan(ids: IdSource): RoaringPlan = {
    val plan = new RoaringPlan
    ids.foreach(plan)
    plan
  }

  def encode(ids: IdSource, plan: RoaringPlan): Array[Byte] = {
    val writer = new RoaringWriter(plan)
    ids.foreach(writer)
    writer.finish()
  }

  /** Gives the ids to `sink` in ascending order. */
  def decode(reader: ByteReader, sink: IdSink): Unit = new RoaringReader(reader, sink).read()

  /** Number of ids, the whole value checked. */
  def count(reader: ByteReader): Long = {
    val counter = new CountIds
    decode(reader, counter)
    counter.count
  }

  def contains(reader: ByteReader, wanted: Long): Boolean = {
    val finder = new FindId(wanted)
    decode(reader, finder)
    finder.found
  }
}
