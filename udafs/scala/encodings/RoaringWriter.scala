package org.apache.spark.sql.forwardlineage

/** Writes the ids that `plan` was made from. */
private final class RoaringWriter(plan: RoaringPlan) extends IdConsumer {
  import RoaringFormat._

  private val sink = new ByteSink(plan.size.toInt)
  private var block = 0
  private var until = 0 // first block of the next 32-bit bitmap
  sink.byte(Tag)
  sink.u64(countBitmaps())

  private def countBitmaps(): Long = {
    var n = 0L
    var i = 0
    while (i < plan.blocks) {
      i = plan.endOfBitmap(i)
      n += 1
    }
    n
  }

  override def accept(ids: Array[Long], from: Int, until: Int): Unit = {
    var i = from
    while (i < until) {
      if (block == this.until) startBitmap()
      container(ids, i)
      i += plan.cardinalities(block)
      block += 1
    }
  }

  private def startBitmap(): Unit = {
    until = plan.endOfBitmap(block)
    val n = until - block
    val runs = plan.hasRuns(block, until)
    sink.u32(plan.keys(block) >>> 16)
    if (runs) {
      sink.u32(CookieRuns | (n - 1L) << 16)
      var i = 0
      while (i < n) {
        var bits = 0
        var j = 0
        while (j < 8 && i + j < n) {
          if (isRun(plan.cardinalities(block + i + j), plan.runs(block + i + j))) bits |= 1 << j
          j += 1
        }
        sink.byte(bits)
        i += 8
      }
    } else {
      sink.u32(CookieNoRuns)
      sink.u32(n)
    }
    for (i <- block until until) {
      sink.u16(plan.keys(i).toInt)
      sink.u16(plan.cardinalities(i) - 1)
    }
    if (!runs || n >= NoOffsetsBelow) offsets()
  }

  private def offsets(): Unit = {
    var offset = plan.headerBytes(block, until)
    for (i <- block until until) {
      sink.u32(offset)
      offset += containerBytes(plan.cardinalities(i), plan.runs(i))
    }
  }

  private def container(ids: Array[Long], from: Int): Unit = {
    val cardinality = plan.cardinalities(block)
    val end = from + cardinality
    if (isRun(cardinality, plan.runs(block))) runContainer(ids, from, end)
    else if (cardinality <= MaxArray) {
      var i = from
      while (i < end) {
        sink.u16(ids(i).toInt)
        i += 1
      }
    } else bitmapContainer(ids, from, end)
  }

  private def runContainer(ids: Array[Long], from: Int, end: Int): Unit = {
    sink.u16(plan.runs(block))
    var i = from
    while (i < end) {
      val start = i
      i += 1
      while (i < end && ids(i) == ids(i - 1) + 1) i += 1
      sink.u16(ids(start).toInt)
      sink.u16(i - start - 1)
    }
  }

  private def bitmapContainer(ids: Array[Long], from: Int, end: Int): Unit = {
    val words = new Array[Long](1024)
    var i = from
    while (i < end) {
      val low = ids(i).toInt & 0xffff
      words(low >>> 6) |= 1L << low
      i += 1
    }
    i = 0
    while (i < 1024) {
      sink.u64(words(i))
      i += 1
    }
  }

  def finish(): Array[Byte] = sink.toArray
}
