package org.apache.spark.sql.forwardlineage

/** Gives the ids of a value to `sink`; every length is checked before it is believed. */
private final class RoaringReader(in: ByteReader, sink: IdSink) {
  import RoaringFormat._

  private val words = new Array[Long](1024)

  def read(): Unit = {
    in.need(8, "the number of bitmaps")
    var left = in.u64()
    // The shortest 32-bit bitmap takes 8 bytes behind its high half.
    if (left < 0 || left > in.remaining / 12) LineageErrors.corrupt("truncated", s"$left bitmaps announced", in.position - 8)
    var previous = -1L
    while (left > 0) {
      in.need(4, "the high half of a bitmap")
      val high = in.u32()
      if (high <= previous) LineageErrors.corrupt("roaring", "high halves do not ascend", in.position - 4)
      if (high > Int.MaxValue) LineageErrors.corrupt("range", "an id beyond 2^63-1", in.position - 4)
      bitmap(high)
      previous = high
      left -= 1
    }
    in.expectEnd()
  }

  private def bitmap(high: Long): Unit = {
    val start = in.position
    in.need(4, "a bitmap's cookie")
    val cookie = in.u32()
    val runs = (cookie & 0xffff) == CookieRuns
    if (!runs && cookie != CookieNoRuns) LineageErrors.corrupt("roaring", s"unknown Roaring cookie $cookie", start)
    val n = if (runs) (cookie >>> 16).toInt + 1 else containerCount()
    val flags = in.position
    if (runs) {
      in.need((n + 7) / 8, "the run flags")
      in.skip((n + 7) / 8)
    }
    val headers = in.position
    val hasOffsets = !runs || n >= NoOffsetsBelow
    in.need(n.toLong * (if (hasOffsets) 8 else 4), "the container headers")
    in.skip(n * (if (hasOffsets) 8 else 4))
    var previous = -1
    var i = 0
    while (i < n) {
      val key = u16(headers + 4 * i)
      if (key <= previous) LineageErrors.corrupt("roaring", "container keys do not ascend", headers + 4 * i)
      if (hasOffsets && u32(headers + 4 * n + 4 * i) != in.position - start)
        LineageErrors.corrupt("roaring", "a container offset points elsewhere", headers + 4 * n + 4 * i)
      val cardinality = u16(headers + 4 * i + 2) + 1
      val isRun = runs && (in.bytes(flags + i / 8) >> (i % 8) & 1) == 1
      container(high << 16 | key, cardinality, isRun)
      previous = key
      i += 1
    }
  }

  private def containerCount(): Int = {
    in.need(4, "the number of containers")
    val n = in.u32()
    if (n > 65536) LineageErrors.corrupt("roaring", s"$n containers announced", in.position - 4)
    n.toInt
  }

  private def u16(at: Int): Int = (in.bytes(at) & 0xff) | (in.bytes(at + 1) & 0xff) << 8

  private def u32(at: Int): Long = u16(at) | u16(at + 2).toLong << 16

  private def container(key: Long, cardinality: Int, isRun: Boolean): Unit =
    if (isRun) runContainer(key, cardinality)
    else if (cardinality <= MaxArray) arrayContainer(key, cardinality)
    else bitmapContainer(key, cardinality)

  private def arrayContainer(key: Long, cardinality: Int): Unit = {
    in.need(2L * cardinality, "an array container")
    var previous = -1
    var i = 0
    while (i < cardinality) {
      val low = in.u16()
      if (low <= previous) LineageErrors.corrupt("roaring", "an array container does not ascend", in.position - 2)
      sink.add(key << 16 | low)
      previous = low
      i += 1
    }
  }

  private def runContainer(key: Long, cardinality: Int): Unit = {
    in.need(2, "a run container")
    var left = in.u16()
    in.need(4L * left, "a run container")
    var previous = -1
    var total = 0
    while (left > 0) {
      val from = in.u16()
      val last = from + in.u16()
      if (from <= previous || last > 0xffff) LineageErrors.corrupt("roaring", "runs overlap or overflow", in.position - 4)
      sink.addRun(key << 16 | from, key << 16 | last)
      total += last - from + 1
      previous = last
      left -= 1
    }
    if (total != cardinality) LineageErrors.corrupt("roaring", "a run container has another cardinality", in.position)
  }

  private def bitmapContainer(key: Long, cardinality: Int): Unit = {
    in.need(BitmapBytes, "a bitmap container")
    var total = 0
    var i = 0
    while (i < 1024) {
      words(i) = in.u64()
      total += java.lang.Long.bitCount(words(i))
      i += 1
    }
    if (total != cardinality) LineageErrors.corrupt("roaring", "a bitmap container has another cardinality", in.position)
    sink.addBitmap(key, words)
  }
}
