package org.apache.spark.sql.forwardlineage

import java.nio.file.Path
import java.util.concurrent.ConcurrentHashMap
import java.util.function.{LongBinaryOperator, ToLongBiFunction}

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.{SparkEnv, TaskContext}
import org.apache.spark.memory.TaskMemoryManager

/**
 * The sets of all groups of one aggregation in one task. A group is a `handle`, a plain long, so that it fits into the fixed-width
 * buffer of Spark's fast hash aggregation:
 *
 *   -1              the empty set
 *   id >= 0         {id}: a group of one row costs nothing here
 *   -2 - (g, n)     group g of `GroupedIds`, to which n ids were added; n stands in the low bits
 *   `Runs` + (a, n) the n ids from a on: rows that follow each other, as those of an order do, cost no more than one
 *   `Large` - i     the i-th `LargeGroup`: what is more than `Most` ids
 *   `Merged` - i    the union of two handles
 *
 * Adding to a set returns its new handle. Reading sorts the log, unless it is the newest group that is read: better add all first.
 */
final class GroupPool(memory: TaskMemoryManager, newFile: () => Path)
    extends LongBinaryOperator
    with ToLongBiFunction[java.lang.Long, Array[Byte]] {
  import GroupPool._

  private[forwardlineage] val grouped = new GroupedIds(memory, newFile)
  private val large = new LargeGroups
  private val merged = ArrayBuffer.empty[Union]
  private val scratch = new ScratchIds
  private lazy val repeated = new RepeatedValues

  /** Adds an id. */
  override def applyAsLong(handle: Long, id: Long): Long = {
    if (id < 0) LineageErrors.negativeId(id)
    if (handle == Empty) id
    else if (handle >= 0)
      if (handle == id) handle
      else if (id == handle + 1 && handle < RunsBelow) runOf(handle, 2)
      else pair(handle, id)
    else if (handle > RunsEnd)
      if (sizeOf(handle) == Most) applyAsLong(enlarge(handle), id)
      else {
        grouped.add(groupOf(handle), id)
        handle - 1
      }
    else if (handle > Large) addToRun(handle, id)
    else {
      if (handle > Merged) large.add(largeOf(handle), id) else unionOf(handle).right = applyAsLong(unionOf(handle).right, id)
      handle
    }
  }

  /** Adds all ids of a lineage value. */
  override def applyAsLong(handle: java.lang.Long, value: Array[Byte]): Long =
    if (handle <= Merged) {
      unionOf(handle).right = applyAsLong(Long.box(unionOf(handle).right), value)
      handle
    } else {
      val isShort = value.length <= Most
      if (handle == Empty && isShort && LineageValues.tag(value) == SetCodec.Tag) firstOf(value)
      else if (isShort) decode(value, handle)
      else addLong(if (handle <= Large) handle else enlarge(handle), value)
    }

  private def decode(value: Array[Byte], handle: Long): Long = {
    val sink = new HandleSink(handle)
    LineageValues.decode(value, sink)
    sink.handle
  }

  /** A value that many rows share is decoded once for each group. */
  private def addLong(handle: Long, value: Array[Byte]): Long =
    if (repeated.isNewTo(large(largeOf(handle)).seen, value)) decode(value, handle) else handle

  /** The first value of a group, and a short one: final aggregations see little else. */
  private def firstOf(value: Array[Byte]): Long = {
    val reader = new ByteReader(value, 1)
    var left = SetCodec.readCount(reader)
    var id = -1L
    var handle = Empty
    while (left > 0) {
      id = SetCodec.nextId(reader, id)
      handle = applyAsLong(handle, id)
      left -= 1
    }
    reader.expectEnd()
    handle
  }

  private final class HandleSink(var handle: Long) extends IdSink {
    private def buffer: IdBuffer = large(largeOf(handle)).ids
    override def add(id: Long): Unit = handle = applyAsLong(handle, id)
    override def addSlice(ids: Array[Long], from: Int, until: Int): Unit =
      if (handle <= Large) buffer.addSlice(ids, from, until) else super.addSlice(ids, from, until)
    override def addRun(from: Long, last: Long): Unit =
      if (handle <= Large) buffer.addRun(from, last) else super.addRun(from, last)
    override def addWord(base: Long, word: Long): Unit =
      if (handle <= Large) buffer.addWord(base, word) else super.addWord(base, word)
    override def addBitmap(key: Long, words: Array[Long]): Unit = {
      if (handle > Large) handle = enlarge(handle)
      buffer.addBitmap(key, words)
    }
  }

  /** Union of two groups, both of which are spent. Where memory was short Spark merges groups that nobody adds to any more. */
  def merge(a: Long, b: Long): Long =
    if (b == Empty) a
    else if (a == Empty) b
    else {
      merged += new Union(a, b)
      Merged - (merged.length - 1)
    }

  private def pair(a: Long, b: Long): Long = {
    val group = grouped.newGroup()
    grouped.add(group, a)
    grouped.add(group, b)
    handleOf(group, 2)
  }

  private def addToRun(handle: Long, id: Long): Long = {
    val start = startOf(handle)
    val n = lengthOf(handle)
    if (id >= start && id < start + n) handle
    else if (n == Most) applyAsLong(enlarge(handle), id)
    else if (id == start + n) handle + 1
    else {
      val group = grouped.newGroup()
      var i = 0
      while (i < n) {
        grouped.add(group, start + i)
        i += 1
      }
      grouped.add(group, id)
      handleOf(group, n + 1)
    }
  }

  /** A group of any size below as one of the large. */
  private def enlarge(handle: Long): Long = {
    val group = large.newGroup(before = if (isLogged(handle)) groupOf(handle) else -1)
    if (handle >= 0) large(group).ids.add(handle)
    else if (isRun(handle)) large(group).ids.addRun(startOf(handle), startOf(handle) + lengthOf(handle) - 1)
    Large - group
  }

  private def unionOf(handle: Long): Union = merged((Merged - handle).toInt)

  /** The group's set, ascending; good until the next call. */
  private def source(handle: Long): IdSource =
    if (handle >= 0) scratch.single(handle)
    else if (handle == Empty) scratch.set(null, 0)
    else if (isRun(handle)) scratch.run(startOf(handle), lengthOf(handle))
    else if (handle > Large) logged(groupOf(handle))
    else {
      val buffer = if (handle > Merged) whole(large.whole(largeOf(handle))) else united(handle)
      buffer.settle()
      buffer
    }

  private def logged(group: Int): ScratchIds = {
    grouped.read(group)
    scratch.set(grouped.ids, grouped.n)
  }

  /** With the ids that were added before it was large. */
  private def whole(group: LargeGroup): IdBuffer = {
    if (group.before >= 0) {
      logged(group.before).addTo(group.ids)
      group.before = -1
    }
    group.ids
  }

  private def united(handle: Long): IdBuffer = {
    val all = new IdBuffer
    var left = handle // Spark merges one after another into the first
    while (left <= Merged) {
      val union = unionOf(left)
      add(union.right, all)
      left = union.left
    }
    add(left, all)
    all
  }

  private def add(handle: Long, to: IdBuffer): Unit = source(handle) match {
    case buffer: IdBuffer => to.addAll(buffer)
    case few: ScratchIds => few.addTo(to)
  }

  /** What the group's rows travel as to the final aggregation. */
  def partial(handle: Long): Array[Byte] = source(handle) match {
    case few: ScratchIds => few.sorted
    case buffer: IdBuffer if buffer.hasBitmaps => RoaringCodec.encode(buffer, RoaringCodec.plan(buffer))
    case ids => Encoding.encode(ids, Encoding.Set)
  }

  def result(handle: Long, setting: Int): Array[Byte] = source(handle) match {
    case few: ScratchIds if setting == Encoding.Set => few.sorted
    case few: ScratchIds if setting != Encoding.Bdd && few.count < RoaringCodec.SmallestSize =>
      val bytes = few.sorted
      if (Encoding.nothingShorter(bytes.length, few.largest)) bytes else Encoding.encode(few, setting)
    case ids => Encoding.encode(ids, setting)
  }
}

object GroupPool {
  val Empty: Long = -1L
  private val Most = (1 << 10) - 1
  private val Runs = Long.MinValue / 4
  private val RunsBelow = 1L << 48 // the first id of a run is
  private val RunsEnd = Runs + RunsBelow * (Most + 1)
  private val Large = Long.MinValue / 2
  private val Merged = Long.MinValue / 4 * 3

  private def handleOf(group: Int, n: Int): Long = -2 - (group.toLong * (Most + 1) + n)
  private def sizeOf(handle: Long): Int = (-2 - handle).toInt & Most
  private def groupOf(handle: Long): Int = ((-2 - handle) / (Most + 1)).toInt
  private def isLogged(handle: Long): Boolean = handle < Empty && handle > RunsEnd

  private def runOf(start: Long, n: Int): Long = Runs + (start * (Most + 1) + n)
  private def startOf(handle: Long): Long = (handle - Runs) / (Most + 1)
  private def lengthOf(handle: Long): Int = (handle - Runs).toInt & Most
  private def isRun(handle: Long): Boolean = handle <= RunsEnd && handle > Large

  private def largeOf(handle: Long): Int = (Large - handle).toInt

  private final class Union(val left: Long, var right: Long)

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
        made.grouped.free()
      }
      pool = made
    }
    pool
  }
}

/** The first ids of an array as a source, used again and again. */
private final class ScratchIds extends IdSource {
  private var own = new Array[Long](16)
  private var ids: Array[Long] = _
  private var n = 0

  def set(array: Array[Long], size: Int): ScratchIds = {
    ids = array
    n = size
    this
  }

  def single(id: Long): ScratchIds = run(id, 1)

  def run(from: Long, size: Int): ScratchIds = {
    if (size > own.length) own = new Array[Long](2 * size)
    var i = 0
    while (i < size) {
      own(i) = from + i
      i += 1
    }
    set(own, size)
  }

  /** As `SetCodec` writes them. */
  def sorted: Array[Byte] = if (n == 1) SetCodec.single(ids(0)) else SetCodec.encodeSlice(ids, 0, n)

  def addTo(buffer: IdBuffer): Unit = {
    var i = 0
    while (i < n) {
      buffer.add(ids(i))
      i += 1
    }
  }

  override def count: Long = n

  /** 0 when there is none. */
  override def largest: Long = if (n == 0) 0 else ids(n - 1)
  override def foreach(consumer: IdConsumer): Unit = if (n > 0) consumer.accept(ids, 0, n)
}
