package org.apache.spark.sql.forwardlineage

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.unsafe.Platform

/**
 * A lineage relation in one byte array: the rows of a stage by their numbers, each with its lineage.
 *
 * It lives as long as a query and is written nowhere, so that its layout may change with the kernel:
 *
 *     u8 form (0: an id a row, 1: a lineage value a row) | u8 frames | u32 rows | u64 number of each row
 *     ids: u64 of each row, -1 for none  |  values: u32 end of each, then one after another
 *     of each frame: `FrameBytes` of each row, then u32 the row at each place of all partitions
 *
 * One that could not be collected is u8 2, then why, as UTF-8.
 *
 * A whole one has its rows in the order of their numbers, each number once. Rows of one number have one lineage: numbers are
 * computed from it (`RowNumber`), and where two rows had one number by chance, the query fails.
 */
private object RelationBytes {
  val Ids = 0
  val Values = 1
  private val Refused = 2
  val Head = 6
  val Framed: Int = FrameBytes.Size + 4 // bytes a row and frame
  val NoId: Long = -1L

  def refused(why: String): Array[Byte] = Refused.toByte +: why.getBytes(UTF_8)

  def refusalIn(bytes: Array[Byte]): Option[String] =
    if (bytes.nonEmpty && bytes(0) == Refused) Some(new String(bytes, 1, bytes.length - 1, UTF_8)) else None

  def long(bytes: Array[Byte], at: Int): Long = Platform.getLong(bytes, Platform.BYTE_ARRAY_OFFSET + at)
  def int(bytes: Array[Byte], at: Int): Int = Platform.getInt(bytes, Platform.BYTE_ARRAY_OFFSET + at)
  def putLong(bytes: Array[Byte], at: Int, value: Long): Unit = Platform.putLong(bytes, Platform.BYTE_ARRAY_OFFSET + at, value)
  def putInt(bytes: Array[Byte], at: Int, value: Int): Unit = Platform.putInt(bytes, Platform.BYTE_ARRAY_OFFSET + at, value)
}

/**
 * What a window frame is to a row: u64 partition, u32 the row's place in it, u32 the place of the frame's last row, u32 how many
 * rows the frame has, u64 what they are made of, as a sum of hashes. Places count from 1 in the order in which the window saw
 * the rows. Should Spark compute a window again and see rows that are equal to its ORDER BY in another order, the sums tell.
 */
object FrameBytes {
  val Size = 28

  def apply(partition: Long, place: Long, last: Long, size: Long, content: Long): Array[Byte] = {
    val bytes = new Array[Byte](Size)
    RelationBytes.putLong(bytes, 0, partition & Long.MaxValue)
    RelationBytes.putInt(bytes, 8, toInt(place))
    RelationBytes.putInt(bytes, 12, toInt(last))
    RelationBytes.putInt(bytes, 16, toInt(size))
    RelationBytes.putLong(bytes, 20, content)
    bytes
  }

  private def toInt(count: Long): Int = {
    if (count < 0 || count > Int.MaxValue) LineageErrors.tooLarge(s"a window over a partition of $count rows is too large to be looked up")
    count.toInt
  }
}
