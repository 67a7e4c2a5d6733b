package org.apache.spark.sql.forwardlineage

import java.util.SplittableRandom

import org.roaringbitmap.longlong.Roaring64Bitmap

/** Builds and reads 1,000,000 random ids; one line a measurement: domain, what, median ns an id, bytes. */
object CodecBench {
  private val Size = 1000000
  private val Runs = 7
  private var sink = 0L // keeps results alive
  private val threads = java.lang.management.ManagementFactory.getThreadMXBean

  /** Processor time of this thread: what runs beside it on the machine does not count. */
  private def cpu(): Long = threads.getCurrentThreadCpuTime

  def main(arguments: Array[String]): Unit =
    for (bits <- arguments.map(_.toInt)) {
      val ids = distinct(bits)
      val sorted = ids.clone
      java.util.Arrays.sort(sorted)
      val source = new SortedIds(sorted, sorted.length)
      val values = Map(
        "set" -> Encoding.encode(source, Encoding.Set),
        "bdd" -> Encoding.encode(source, Encoding.Bdd),
        "roaring" -> RoaringCodec.encode(source, RoaringCodec.plan(source)))
      val cases = Seq[(String, () => Long)](
        "build roaring" -> (() => buildRoaring(ids)),
        "build bdd" -> (() => united(ids, Encoding.Bdd)),
        "build set" -> (() => united(ids, Encoding.Set)),
        "build auto" -> (() => united(ids, Encoding.Auto))) ++
        Seq("set", "bdd", "roaring").map(name => s"decode $name" -> (() => LineageValues.idArray(values(name)).length.toLong))
      val times = cases.map(_ => new Array[Long](Runs))
      for (run <- -3 until Runs; (c, i) <- cases.zipWithIndex) {
        val start = cpu()
        sink += c._2()
        if (run >= 0) times(i)(run) = cpu() - start
      }
      for (((name, _), i) <- cases.zipWithIndex) {
        java.util.Arrays.sort(times(i))
        val bytes = values.get(name.split(' ').last).fold(0)(_.length)
        println(s"$bits\t$name\t${times(i)(Runs / 2) / ids.length.toDouble}\t$bytes")
      }
    }

  private def distinct(bits: Int): Array[Long] = {
    val random = new SplittableRandom(bits)
    val seen = new java.util.HashSet[java.lang.Long]
    while (seen.size < Size) seen.add(random.nextLong() >>> (64 - bits))
    val ids = seen.stream.mapToLong(_.longValue).toArray
    for (i <- ids.length - 1 to 1 by -1) {
      val j = random.nextInt(i + 1)
      val swap = ids(i)
      ids(i) = ids(j)
      ids(j) = swap
    }
    ids
  }

  private def buildRoaring(ids: Array[Long]): Long = {
    val bitmap = new Roaring64Bitmap
    var i = 0
    while (i < ids.length) {
      bitmap.addLong(ids(i))
      i += 1
    }
    bitmap.runOptimize()
    bitmap.serializedSizeInBytes
  }

  private def united(ids: Array[Long], setting: Int): Long = {
    val buffer = new IdBuffer
    var i = 0
    while (i < ids.length) {
      buffer.add(ids(i))
      i += 1
    }
    buffer.settle()
    Encoding.encode(buffer, setting).length
  }
}
