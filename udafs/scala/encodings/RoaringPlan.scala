package org.apache.spark.sql.forwardlineage

/** Cardinality and number of runs of each 2^16 block: all that the size depends on. */
final class RoaringPlan extends IdConsumer {
  import RoaringFormat._

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
