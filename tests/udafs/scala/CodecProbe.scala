package org.apache.spark.sql.forwardlineage

import java.nio.{ByteBuffer, ByteOrder}
import java.util.SplittableRandom

import scala.io.StdIn

import org.apache.spark.{SparkConf, SparkRuntimeException}
import org.apache.spark.memory.{TaskMemoryManager, UnifiedMemoryManager}

/** Lets a test talk to the codecs without Spark: one command a line in, one line out; bytes as hex, ids packed as int64. */
object CodecProbe {
  private var buffer = new IdBuffer

  def main(arguments: Array[String]): Unit =
    Iterator.continually(StdIn.readLine()).takeWhile(_ != null).foreach { line =>
      println(try answer(line.split(" ", -1).toList) catch { case e: SparkRuntimeException => "ERROR " + e.getMessage })
    }

  private def answer(command: List[String]): String = (command: @unchecked) match {
    case List("new") => buffer = new IdBuffer; "ok"
    case "add" :: packed => ids(packed.mkString).foreach(buffer.add); "ok"
    case List("merge", bytes) => LineageValues.decode(unhex(bytes), buffer); "ok"
    case List("result", setting) => buffer.settle(); hex(encode(buffer, setting))
    case List("decode", bytes) => hex(pack(LineageValues.idArray(unhex(bytes))))
    case List("size", bytes) => LineageValues.size(unhex(bytes)).toString
    case List("contains", bytes, id) => LineageValues.contains(unhex(bytes), id.toLong).toString
    case List("intersects", a, b) => LineageValues.intersects(unhex(a), unhex(b)).toString
    case List("pool", seed, steps, heap) => pool(seed.toLong, steps.toInt, heap.toLong)
    case List("bounds", seed, rounds) => bounds(seed.toLong, rounds.toInt)
    case List("fuzz", seed, rounds, file) => fuzz(seed.toLong, rounds.toInt, file)
    case List("judge", kind, folder, judged) => judge(kind, java.nio.file.Path.of(folder), java.nio.file.Path.of(judged))
  }

  private def encode(ids: IdSource, setting: String): Array[Byte] =
    if (setting == "roaring") RoaringCodec.encode(ids, RoaringCodec.plan(ids)) else Encoding.encode(ids, Encoding.parse(setting))

  private def hex(bytes: Array[Byte]): String = java.util.HexFormat.of.formatHex(bytes)
  private def unhex(text: String): Array[Byte] = java.util.HexFormat.of.parseHex(text)

  private def ids(packed: String): Array[Long] = {
    val longs = ByteBuffer.wrap(unhex(packed)).order(ByteOrder.LITTLE_ENDIAN).asLongBuffer
    val array = new Array[Long](longs.remaining)
    longs.get(array)
    array
  }

  private def pack(ids: Array[Long]): Array[Byte] = {
    val bytes = ByteBuffer.allocate(8 * ids.length).order(ByteOrder.LITTLE_ENDIAN)
    bytes.asLongBuffer.put(ids)
    bytes.array
  }

  /**
   * Mutates the values in `file` (one hex text a line). Each result is refused with an error of ours, or is a value:
   * then every question agrees with its ids, and writing them again reads as the same ids. The slowest is said in milliseconds
   * of CPU, which does not depend on what else the machine does.
   */
  private def fuzz(seed: Long, rounds: Int, file: String): String = {
    val random = new SplittableRandom(seed)
    val seeds = java.nio.file.Files.readAllLines(java.nio.file.Path.of(file)).toArray(Array.empty[String]).map(unhex)
    var refused = 0
    var read = 0
    val threads = java.lang.management.ManagementFactory.getThreadMXBean
    var slowest = 0L
    for (_ <- 0 until rounds) {
      val bytes = mutate(seeds(random.nextInt(seeds.length)).clone, random, seeds)
      val start = threads.getCurrentThreadCpuTime
      try {
        check(bytes, random)
        read += 1
      } catch {
        case e: SparkRuntimeException if e.getMessage.contains("lineage value") => refused += 1
        case e: Throwable => throw new AssertionError(s"on ${hex(bytes)}", e)
      }
      slowest = math.max(slowest, threads.getCurrentThreadCpuTime - start)
    }
    s"$refused refused, $read read, slowest ${slowest / 1000000} ms"
  }

  /**
   * Reads what may be spoilt, one hex text a line of `spoilt`: values or manifests. Writes a line about each to `judged`: "refused", or
   * what was read, as tests/mutations/kinds.py says it. Anything that is thrown and is no refusal of ours ends the probe.
   */
  private def judge(kind: String, spoilt: java.nio.file.Path, judged: java.nio.file.Path): String = {
    val said: Array[Byte] => String = kind match {
      case "values" => valueSaid
      case "manifests" => manifestSaid
    }
    val lines = java.nio.file.Files.readAllLines(spoilt).toArray(Array.empty[String]).map(line => verdict(line)(said(unhex(line))))
    java.nio.file.Files.write(judged, java.util.Arrays.asList(lines: _*))
    val memory = Runtime.getRuntime
    s"${(memory.totalMemory - memory.freeMemory) >> 20}"
  }

  private def verdict(what: String)(read: => String): String =
    try read
    catch {
      case e: SparkRuntimeException if e.getMessage.contains("too large") => "large"
      case e: SparkRuntimeException if e.getErrorClass == Refusals.Name => "refused"
      case e: Throwable => throw new AssertionError(s"on $what", e)
    }

  private def valueSaid(bytes: Array[Byte]): String = {
    val random = new SplittableRandom(bytes.length)
    val size = LineageValues.size(bytes)
    check(bytes, random)
    if (size > (1 << 16)) s"$size" else s"$size ${crc(pack(LineageValues.idArray(bytes)))}"
  }

  private lazy val packed = {
    val field = classOf[PlacedFiles].getDeclaredFields.find(_.getName.endsWith("packed")).get
    field.setAccessible(true)
    field
  }

  private def manifestSaid(bytes: Array[Byte]): String = {
    val in = ByteBuffer.wrap(packed.get(new ManifestFile("x", bytes).files).asInstanceOf[Array[Byte]])
    val count = in.getInt
    val numbers = Array.fill(count) {
      in.position(in.position() + 4 + in.getInt(in.position()))
      Array.fill(3)(in.getLong)
    }
    s"$count ${crc(pack(numbers.flatten))}"
  }

  private def crc(bytes: Array[Byte]): Long = {
    val found = new java.util.zip.CRC32
    found.update(bytes)
    found.getValue
  }

  private def mutate(from: Array[Byte], random: SplittableRandom, seeds: Array[Array[Byte]]): Array[Byte] = {
    var bytes = from
    for (_ <- 0 to random.nextInt(3)) {
      def at = random.nextInt(bytes.length)
      if (bytes.length == 0) bytes = Array(random.nextInt(4).toByte)
      else random.nextInt(7) match {
        case 0 => bytes(at) = random.nextInt(256).toByte
        case 1 => bytes(at) = (bytes(at) ^ 1 << random.nextInt(8)).toByte
        case 2 => bytes = bytes.take(at)
        case 3 => val i = at; bytes = bytes.take(i) ++ Array.fill(1 + random.nextInt(3))(random.nextInt(256).toByte) ++ bytes.drop(i)
        case 4 => val i = at; bytes = bytes.take(i) ++ bytes.drop(i + 1 + random.nextInt(3))
        case 5 => bytes(at) = Seq(0, 1, 2, 0x7f, 0x80, 0xff)(random.nextInt(6)).toByte
        case 6 =>
          val other = seeds(random.nextInt(seeds.length))
          if (other.length > 0) bytes = bytes.take(at) ++ other.drop(random.nextInt(other.length))
      }
    }
    bytes
  }

  private def check(bytes: Array[Byte], random: SplittableRandom): Unit = {
    val size = LineageValues.size(bytes)
    val probe = random.nextLong() & Long.MaxValue
    val there = LineageValues.contains(bytes, probe)
    assert(!LineageValues.intersects(bytes, SetCodec.single(probe)) == !there)
    if (size < (1 << 20)) {
      val ids = LineageValues.idArray(bytes)
      assert(ids.length == size)
      for (i <- 1 until ids.length) assert(ids(i - 1) < ids(i))
      assert(ids.isEmpty || ids(0) >= 0)
      assert(java.util.Arrays.binarySearch(ids, probe) >= 0 == there)
      if (ids.nonEmpty) assert(LineageValues.contains(bytes, ids(random.nextInt(ids.length))))
      val again = Encoding.encode(new SortedIds(ids, ids.length), random.nextInt(3))
      assert(java.util.Arrays.equals(LineageValues.idArray(again), ids))
      if (again(0) == bytes(0) && bytes(0) < 2) assert(java.util.Arrays.equals(again, bytes), "accepted what is not canonical")
    }
  }

  /** Random adds, values and merges on a pool whose task gets `heap` bytes, compared with plain sets at the end. */
  private def pool(seed: Long, steps: Int, heap: Long): String = {
    val random = new SplittableRandom(seed)
    val manager = new UnifiedMemoryManager(new SparkConf(), heap, 0, 1)
    val file = java.nio.file.Files.createTempDirectory("pool").resolve("pages")
    val pool = new GroupPool(new TaskMemoryManager(manager, 0), () => file)
    val handles = Array.fill(3000)(GroupPool.Empty)
    val sets = Array.fill(handles.length)(new java.util.TreeSet[java.lang.Long])
    // Half of the steps go to few groups, so that some become large.
    def group(): Int = if (random.nextBoolean()) random.nextInt(20) else random.nextInt(handles.length)
    def id(g: Int): Long =
      if (g < 10) random.nextInt(100000)
      else if (g < 500 && !sets(g).isEmpty && random.nextInt(1000) > 0) // runs, some of which are broken later
        math.max(0, math.min(Long.MaxValue - 1, sets(g).last) + 1 - random.nextInt(3))
      else if (random.nextBoolean()) (1L << 48) - random.nextInt(50) // where no run may begin any more
      else random.nextLong() & Long.MaxValue
    def compare(g: Int): Unit = {
      val ids = sets(g).stream.mapToLong(_.longValue).toArray
      val setting = random.nextInt(3)
      val result = Encoding.encode(new SortedIds(ids, ids.length), setting)
      assert(java.util.Arrays.equals(LineageValues.idArray(pool.partial(handles(g))), ids), s"partial of group $g")
      assert(java.util.Arrays.equals(pool.result(handles(g), setting), result), s"result of group $g")
    }
    def add(g: Int): Unit = {
      val one = id(g)
      handles(g) = pool.applyAsLong(handles(g), one)
      sets(g).add(one)
    }
    for (step <- 0 until steps) {
      val g = group()
      // Reading is no hindrance to adding.
      if (step % 5000 == 0) compare(g)
      random.nextInt(40) match {
        case 0 =>
          val other = group()
          if (other != g) {
            handles(g) = pool.merge(handles(g), handles(other))
            sets(g).addAll(sets(other))
            handles(other) = GroupPool.Empty
            sets(other).clear()
          }
        case 1 =>
          val ids = Array.fill(random.nextInt(30))(id(g)).distinct.sorted
          val value = Encoding.encode(new SortedIds(ids, ids.length), random.nextInt(3))
          handles(g) = pool.applyAsLong(Long.box(handles(g)), value)
          ids.foreach(sets(g).add(_))
        case 2 => for (_ <- 0 until random.nextInt(if (random.nextInt(20) == 0) 6000 else 30)) add(g)
        case _ => add(g)
      }
    }
    handles.indices.foreach(compare)
    val mapped = pool.grouped.reachesIntoFile
    pool.grouped.free()
    assert(!java.nio.file.Files.exists(file), "the file is gone")
    if (mapped) "in a file" else "on the heap"
  }

  /**
   * `BddBound` on random sets: never above the bytes the BDD has. Returns how many of the scattered sets it proved to be above half of
   * them, and of how many.
   */
  private def bounds(seed: Long, rounds: Int): String = {
    val random = new SplittableRandom(seed)
    var scattered = 0
    var proved = 0
    for (round <- 0 until rounds) {
      val bits = 10 + random.nextInt(40)
      val n = 20 + random.nextInt(1 << random.nextInt(15))
      val run = if (round % 2 == 0) 1 else 1 + random.nextInt(60)
      val step = if (round % 4 < 2) 1 else 1 + random.nextInt(9)
      val ids = Array.fill(n / run + 1)(random.nextLong(1L << bits)).flatMap(at => (0 until run).map(at + _ * step)).distinct.sorted
      val source = new SortedIds(ids, ids.length)
      val nbits = 64 - java.lang.Long.numberOfLeadingZeros(source.largest)
      val size = Encoding.encode(source, Encoding.Bdd).length
      val what = s"$n ids of $bits bits in runs of $run by $step, round $round"
      for (limit <- Seq(size, size + 1, 2 * size)) assert(!new BddBound(source, nbits, limit).isAbove, s"$limit of $size bytes: $what")
      if (run == 1 && BddBound.mayBeAbove(size / 2, ids.length, nbits)) {
        scattered += 1
        if (new BddBound(source, nbits, size / 2).isAbove) proved += 1
      }
    }
    s"$proved $scattered"
  }
}
