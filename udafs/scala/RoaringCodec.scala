package org.apache.spark.sql.forwardlineage

/**
 * Tag 02: Roaring64, portable format [https://github.com/RoaringBitmap/RoaringFormatSpec].
 *
 * Written here rather than through RoaringBitmap's classes, for two reasons: the choice of containers must be canonical
 * (FORMAT.md), and a reader of foreign bytes must check every length before it allocates.
 */
object RoaringCodec {
  val Tag = 2
  private val CookieNoRuns = 12346
  private val CookieRuns = 12347
  private val NoOffsetsBelow = 4 // containers, in a bitmap with runs
  private val MaxArray = 4096
  private val BitmapBytes = 8192

  /** No value with ids in so many 2^16 blocks is shorter: tag, count, high half, cookie, and each block's key and container. */
  def leastSize(blocks: Int): Long = 1 + 8 + 4 + 5 + (4 + 2L) * blocks

  /** No Roaring64 value with an id is shorter. */
  val SmallestSize: Int = leastSize(1).toInt

  def plan(ids: IdSource): Plan = {
    val plan = new Plan
    ids.foreach(plan)
    plan
  }

  def encode(ids: IdSource, plan: Plan): Array[Byte] = {
    val writer = new Writer(plan)
    ids.foreach(writer)
    writer.finish()
  }

  /** Bytes of a container: the smallest of array, run and bitmap. */
  private def containerBytes(cardinality: Int, runs: Int): Int =
    math.min(math.min(2 * cardinality, BitmapBytes), 2 + 4 * runs)

  private def isRun(cardinality: Int, runs: Int): Boolean = 2 + 4 * runs < math.min(2 * cardinality, BitmapBytes)

  /** Cardinality and number of runs of each 2^16 block: all that the size depends on. */
  final class Plan extends IdConsumer {
    var keys = new Array[Long](4)
    var cardinalities = new Array[Int](4)
    var runs = new Array[Int](4)
    var blocks = 0

    override def accept(ids: Array[Long], from: Int, until: Int): Unit = {
      var i = from
      while (i < until) {
        val key = ids(i) >>> 16
        val start = i
        var breaks = 1
        i += 1
        while (i < until && (ids(i) >>> 16) == key) {
          if (ids(i) != ids(i - 1) + 1) breaks += 1
          i += 1
        }
        append(key, i - start, breaks)
      }
    }

    private def append(key: Long, cardinality: Int, breaks: Int): Unit = {
      if (blocks == keys.length) {
        keys = java.util.Arrays.copyOf(keys, blocks * 2)
        cardinalities = java.util.Arrays.copyOf(cardinalities, blocks * 2)
        runs = java.util.Arrays.copyOf(runs, blocks * 2)
      }
      keys(blocks) = key
      cardinalities(blocks) = cardinality
      runs(blocks) = breaks
      blocks += 1
    }

    /** First block behind `from` with another high half. */
    def endOfBitmap(from: Int): Int = {
      var i = from + 1
      while (i < blocks && (keys(i) >>> 16) == (keys(from) >>> 16)) i += 1
      i
    }

    def hasRuns(from: Int, until: Int): Boolean = {
      var i = from
      while (i < until) {
        if (isRun(cardinalities(i), runs(i))) return true
        i += 1
      }
      false
    }

    /** Bytes before the first container of the 32-bit bitmap of blocks from until. */
    def headerBytes(from: Int, until: Int): Int = {
      val n = until - from
      if (!hasRuns(from, until)) 8 + 8 * n
      else 4 + (n + 7) / 8 + 4 * n + (if (n < NoOffsetsBelow) 0 else 4 * n)
    }

    /** Bytes of the whole value, tag included. */
    lazy val size: Long = {
      var total = 1L + 8
      var from = 0
      while (from < blocks) {
        val until = endOfBitmap(from)
        total += 4 + headerBytes(from, until)
        var i = from
        while (i < until) {
          total += containerBytes(cardinalities(i), runs(i))
          i += 1
        }
        from = until
      }
      total
    }
  }

  private final class Writer(plan: Plan) extends IdConsumer {
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

  /** Gives the ids to `sink` in ascending order. */
  def decode(reader: ByteReader, sink: IdSink): Unit = new Reader(reader, sink).read()

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

  private final class Reader(in: ByteReader, sink: IdSink) {
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
}
