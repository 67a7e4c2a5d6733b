package org.apache.spark.sql.forwardlineage

import java.nio.file.Path
import java.util.concurrent.ConcurrentHashMap
import java.util.function.{LongBinaryOperator, ToLongBiFunction}

import org.apache.spark.{SparkEnv, TaskContext}
import org.apache.spark.memory.TaskMemoryManager

/**
 * The sets of all groups of one aggregation in one task. A group is a `handle`, a plain long, so that it fits into the fixed-width
 * buffer of Spark's fast hash aggregation:
 *
 *   -1             the empty set
 *   id >= 0        {id}: a group of one row costs nothing here
 *   -2 - address   a block of the arena: a header, then the ids
 *   `Large` - i    the i-th `IdBuffer`, for groups that outgrow the largest block
 *
 * Adding to a set may move it and returns its new handle.
 */
final class GroupPool(memory: TaskMemoryManager, newFile: () => Path)
    extends LongBinaryOperator
    with ToLongBiFunction[java.lang.Long, Array[Byte]] {
  import GroupPool._

  private[forwardlineage] val arena = new Arena(memory, newFile, Classes)
  private val large = new java.util.ArrayList[IdBuffer]
  private val scratch = new ScratchIds

  /** Adds an id. */
  override def applyAsLong(handle: Long, id: Long): Long = {
    if (id < 0) LineageErrors.negativeId(id)
    if (handle == Empty) id
    else if (handle >= 0) if (handle == id) handle else pair(handle, id)
    else if (handle > Large) append(handle, id)
    else {
      large.get((Large - handle).toInt).add(id)
      handle
    }
  }

  /** Adds all ids of a lineage value. */
  override def applyAsLong(handle: java.lang.Long, value: Array[Byte]): Long =
    if (handle == Empty && LineageValues.tag(value) == SetCodec.Tag && value.length <= 1024) firstOf(value)
    else {
      val sink = new HandleSink(handle)
      LineageValues.decode(value, sink)
      sink.handle
    }

  /** The first value of a group, and a short one: final aggregations see little else. */
  private def firstOf(value: Array[Byte]): Long = {
    val reader = new ByteReader(value, 1)
    val n = SetCodec.readCount(reader)
    var k = 0
    while (capacity(k) < n) k += 1
    var id = -1L
    if (n < 2) {
      if (n == 1) id = SetCodec.nextId(reader, id)
      reader.expectEnd()
      return id // {} is -1
    }
    val address = arena.allocate(k)
    arena.open(address)
    val page = arena.page
    val from = arena.at + 1
    var i = 0
    while (i < n) {
      id = SetCodec.nextId(reader, id)
      page(from + i) = id
      i += 1
    }
    page(arena.at) = header(n, k, unsorted = false)
    arena.close()
    reader.expectEnd()
    -2 - address
  }

  private final class HandleSink(var handle: Long) extends IdSink {
    override def add(id: Long): Unit = handle = applyAsLong(handle, id)
    override def addRun(from: Long, last: Long): Unit =
      if (handle <= Large) large.get((Large - handle).toInt).addRun(from, last) else super.addRun(from, last)
    override def addWord(base: Long, word: Long): Unit =
      if (handle <= Large) large.get((Large - handle).toInt).addWord(base, word) else super.addWord(base, word)
    override def addBitmap(key: Long, words: Array[Long]): Unit = {
      if (handle > Large) handle = enlarge(handle)
      large.get((Large - handle).toInt).addBitmap(key, words)
    }
  }

  /** Union of two groups; the first one's handle is spent. */
  def merge(a: Long, b: Long): Long =
    if (b == Empty) a
    else if (a == Empty) b
    else if (b >= 0) applyAsLong(a, b)
    else if (b > Large) {
      var handle = a
      for (id <- idsOf(b)) handle = applyAsLong(handle, id)
      handle
    } else {
      val handle = if (a > Large) enlarge(a) else a
      large.get((Large - handle).toInt).addAll(large.get((Large - b).toInt))
      handle
    }

  private def pair(a: Long, b: Long): Long = {
    val address = arena.allocate(0)
    arena.open(address)
    arena.page(arena.at) = header(2, 0, unsorted = b < a)
    arena.page(arena.at + 1) = a
    arena.page(arena.at + 2) = b
    arena.close()
    -2 - address
  }

  private def append(handle: Long, id: Long): Long = {
    arena.open(-2 - handle)
    val page = arena.page
    val at = arena.at
    val head = page(at)
    val n = size(head)
    val last = page(at + n)
    if (id == last) handle
    else {
      page(at) = if (id < last) head | Unsorted else head
      if (n < capacity(classOf(head))) {
        page(at + n + 1) = id
        page(at) += 1
        arena.close()
        handle
      } else applyAsLong(makeRoom(-2 - handle), id)
    }
  }

  /** A full block, open: without its duplicates when they are half of it, else in the next size. */
  private def makeRoom(address: Long): Long = {
    val n = settle()
    arena.close()
    val k = classOf(arena.page(arena.at))
    if (n <= capacity(k) / 2) -2 - address
    else if (k + 1 == Classes) enlarge(-2 - address)
    else {
      val to = arena.move(address, k, n + 1)
      arena.open(to)
      arena.page(arena.at) = header(n, k + 1, unsorted = false)
      arena.close()
      -2 - to
    }
  }

  /** Moves a group into an `IdBuffer`. */
  private def enlarge(handle: Long): Long = {
    val buffer = new IdBuffer
    if (handle >= 0) buffer.add(handle)
    else if (handle != Empty) {
      for (id <- idsOf(handle)) buffer.add(id)
      arena.release(-2 - handle, classOf(arena.page(arena.at)))
    }
    large.add(buffer)
    Large - (large.size - 1)
  }

  /** A copy of the ids in a group's block, which stays open. */
  private def idsOf(handle: Long): Array[Long] = {
    arena.open(-2 - handle)
    java.util.Arrays.copyOfRange(arena.page, arena.at + 1, arena.at + 1 + size(arena.page(arena.at)))
  }

  /** Sorts the open block and drops duplicates; returns its size. */
  private def settle(): Int = {
    val page = arena.page
    val at = arena.at
    val head = page(at)
    val n = size(head)
    if ((head & Unsorted) == 0) return n
    java.util.Arrays.sort(page, at + 1, at + n + 1)
    var kept = 1
    var i = 1
    while (i < n) {
      if (page(at + 1 + i) != page(at + kept)) {
        page(at + 1 + kept) = page(at + 1 + i)
        kept += 1
      }
      i += 1
    }
    page(at) = header(kept, classOf(head), unsorted = false)
    kept
  }

  /** The group's set, ascending; good until the next call. */
  private def source(handle: Long): IdSource =
    if (handle == Empty) scratch.set(null, 0, 0)
    else if (handle >= 0) scratch.single(handle)
    else if (handle > Large) {
      arena.open(-2 - handle)
      val n = settle()
      arena.close()
      scratch.set(arena.page, arena.at + 1, n)
    } else {
      val buffer = large.get((Large - handle).toInt)
      buffer.settle()
      buffer
    }

  /** What the group's rows travel as to the final aggregation. */
  def partial(handle: Long): Array[Byte] =
    if (handle > Large) sortedIds(handle)
    else source(handle) match {
      case buffer: IdBuffer if buffer.hasBitmaps => RoaringCodec.encode(buffer, RoaringCodec.plan(buffer))
      case ids => Encoding.encode(ids, Encoding.Set)
    }

  def result(handle: Long, setting: Int): Array[Byte] =
    if (setting == Encoding.Bdd || setting == Encoding.Auto && !isShort(handle)) Encoding.encode(source(handle), setting)
    else if (handle <= Large) Encoding.encode(source(handle), setting)
    else {
      val bytes = sortedIds(handle)
      val largest = if (handle >= Empty) math.max(handle, 0) else arena.page(arena.at + size(arena.page(arena.at)))
      if (setting == Encoding.Set || Encoding.nothingShorter(bytes.length, largest)) bytes
      else Encoding.encode(source(handle), setting)
    }

  /** Whether the sorted ids may take few enough bytes to be the shortest for certain. */
  private def isShort(handle: Long): Boolean =
    handle >= Empty || handle > Large && {
      arena.open(-2 - handle)
      size(arena.page(arena.at)) < RoaringCodec.SmallestSize
    }

  /** A group that is not large, as `SetCodec` writes it; its block stays open. */
  private def sortedIds(handle: Long): Array[Byte] =
    if (handle == Empty) Encoding.empty(Encoding.Set)
    else if (handle >= 0) SetCodec.single(handle)
    else {
      arena.open(-2 - handle)
      val n = settle()
      arena.close()
      SetCodec.encodeSlice(arena.page, arena.at + 1, n)
    }
}

object GroupPool {
  val Empty: Long = -1L
  private val Large = Long.MinValue / 2
  private val Classes = 9 // blocks of 4 .. 1024 longs
  private val Unsorted = 1L << 40

  private def header(n: Int, k: Int, unsorted: Boolean): Long = n | k.toLong << 32 | (if (unsorted) Unsorted else 0L)
  private def size(header: Long): Int = header.toInt
  private def classOf(header: Long): Int = (header >>> 32).toInt & 0xff
  private def capacity(k: Int): Int = (4 << k) - 1

  private val pools = new ConcurrentHashMap[(Long, Long), GroupPool]

  /** The pool of aggregation `key` in the running task. */
  def of(key: Long): GroupPool = {
    val task = TaskContext.get()
    val name = (task.taskAttemptId(), key)
    var pool = pools.get(name)
    if (pool == null) {
      val made = new GroupPool(
        task.taskMemoryManager(),
        () => SparkEnv.get.blockManager.diskBlockManager.createTempLocalBlock()._2.toPath)
      pools.put(name, made)
      task.addTaskCompletionListener[Unit] { _ =>
        pools.remove(name)
        made.arena.free()
      }
      pool = made
    }
    pool
  }
}

/** A slice of an array as a source, used again and again. */
private final class ScratchIds extends IdSource {
  private val one = new Array[Long](1)
  private var ids: Array[Long] = _
  private var from = 0
  private var n = 0

  def set(array: Array[Long], start: Int, size: Int): ScratchIds = {
    ids = array
    from = start
    n = size
    this
  }

  def single(id: Long): ScratchIds = {
    one(0) = id
    set(one, 0, 1)
  }

  override def count: Long = n
  override def largest: Long = ids(from + n - 1)
  override def foreach(consumer: IdConsumer): Unit = if (n > 0) consumer.accept(ids, from, from + n)
}
