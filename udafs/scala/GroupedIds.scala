package org.apache.spark.sql.forwardlineage

import java.nio.{ByteBuffer, IntBuffer, LongBuffer}
import java.nio.channels.FileChannel
import java.nio.file.Path
import java.nio.file.StandardOpenOption.{CREATE_NEW, DELETE_ON_CLOSE, READ, WRITE}

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.memory.{MemoryConsumer, MemoryMode, TaskMemoryManager}

/**
 * The ids of numbered groups: a log of (group, id), sorted by group when somebody reads.
 *
 * Rows come in the order of the scan, their groups mostly in none. To keep the ids of a group together from the start is a jump
 * through memory for every row, and each waits for the one before; a log is written from front to end, and a counting sort
 * jumps without waiting.
 *
 * The memory is asked of Spark. When Spark refuses, what there is is sorted and moves into a file of Spark's local folders, so a
 * task with more groups than memory gets slower and does not fail.
 *
 * @param newFile a path where nothing is yet
 */
private final class GroupedIds(memory: TaskMemoryManager, newFile: () => Path)
    extends MemoryConsumer(memory, MemoryMode.ON_HEAP) {
  import GroupedIds._

  private var groups = 0
  // The log, in chunks; the last one is filled up to `at`.
  private val chunkGroups = ArrayBuffer.empty[Array[Int]]
  private val chunkIds = ArrayBuffer.empty[Array[Long]]
  private var lastGroups: Array[Int] = _
  private var lastIds: Array[Long] = _
  private var at = ChunkSize
  private var granted = 0L // for the log and for sorting it
  private val segments = ArrayBuffer.empty[Segment]
  private var file: FileChannel = _

  // What `read` found: ids(0 until n), strictly ascending.
  var ids = new Array[Long](64)
  var n = 0

  def newGroup(): Int = {
    if (groups == Int.MaxValue - 16) LineageErrors.tooLarge("a task with more than 2^31 groups; use more partitions")
    groups += 1
    groups - 1
  }

  def add(group: Int, id: Long): Unit = {
    if (at == ChunkSize) addChunk()
    lastGroups(at) = group
    lastIds(at) = id
    at += 1
  }

  /** Puts the ids of a group into `ids`. */
  def read(group: Int): Unit = {
    if (chunkIds.nonEmpty) keepOnHeap(sorted())
    n = 0
    var from = 0
    var s = 0
    while (s < segments.length) {
      from = n
      append(segments(s), group)
      s += 1
    }
    if (from > 0) n = settle(ids, 0, n) // more than one segment had some
  }

  private def append(segment: Segment, group: Int): Unit = {
    val count = segment.count(group)
    if (n + count > ids.length) ids = java.util.Arrays.copyOf(ids, 2 * (n + count))
    segment.copy(group, ids, n)
    n += count
  }

  private def addChunk(): Unit = {
    val more = acquireMemory(ChunkBytes)
    granted += more
    if (more < ChunkBytes && chunkIds.length >= LeastChunks) moveOut()
    else if (chunkIds.length == MostChunks) keepOnHeap(sorted())
    lastGroups = new Array[Int](ChunkSize)
    lastIds = new Array[Long](ChunkSize)
    chunkGroups += lastGroups
    chunkIds += lastIds
    at = 0
  }

  /** Many rows of a group may bring the same id: then what is left fits into memory. */
  private def moveOut(): Unit = {
    val logged = ChunkSize.toLong * chunkIds.length
    val segment = sorted()
    if (segment.size <= logged / 2) keepOnHeap(segment) else segments += segment.in(newRoom(segment.bytes))
  }

  private def keepOnHeap(segment: Segment): Unit = {
    acquireMemory(segment.bytes) // it is there: what the log had is more
    segments += segment
  }

  /** Empties the log: a counting sort, then each group in ascending order without duplicates. */
  private def sorted(): Segment = {
    val ends = new Array[Int](groups)
    eachChunk { (chunk, _, length) =>
      var i = 0
      while (i < length) {
        ends(chunk(i)) += 1
        i += 1
      }
    }
    val total = toStarts(ends)
    val all = new Array[Long](total)
    eachChunk { (chunk, idsOf, length) =>
      var i = 0
      while (i < length) {
        val group = chunk(i)
        all(ends(group)) = idsOf(i)
        ends(group) += 1 // ends where the next group starts
        i += 1
      }
    }
    chunkGroups.clear()
    chunkIds.clear()
    at = ChunkSize
    freeMemory(granted)
    granted = 0
    val kept = settleEach(all, ends)
    new Segment(IntBuffer.wrap(ends), LongBuffer.wrap(if (kept <= total / 2) java.util.Arrays.copyOf(all, kept) else all))
  }

  private def eachChunk(visit: (Array[Int], Array[Long], Int) => Unit): Unit =
    for (c <- chunkIds.indices) visit(chunkGroups(c), chunkIds(c), if (c == chunkIds.length - 1) at else ChunkSize)

  private def newRoom(bytes: Long): ByteBuffer = {
    if (file == null) file = FileChannel.open(newFile(), CREATE_NEW, READ, WRITE, DELETE_ON_CLOSE)
    file.map(FileChannel.MapMode.READ_WRITE, file.size(), bytes)
  }

  /** Nothing can be given back at another's request: this may be in the middle of anything. */
  override def spill(size: Long, trigger: MemoryConsumer): Long = 0

  def reachesIntoFile: Boolean = file != null

  def free(): Unit = {
    freeMemory(getUsed)
    if (file != null) file.close()
  }
}

private object GroupedIds {
  private val ChunkSize = 1 << 14
  private val ChunkBytes = 20L * ChunkSize // a group and an id, and the id once more for sorting
  private val LeastChunks = 8 // this much a log has even if Spark refuses, lest segments be many
  private val MostChunks = 1 << 10

  /** The first `ends.limit` groups: their ids one after another, and where those of each group end. */
  private final class Segment(ends: IntBuffer, ids: LongBuffer) {
    def size: Int = ids.limit()
    def bytes: Long = 8L * ids.limit() + 4L * ends.limit()

    private def start(group: Int): Int = if (group == 0) 0 else ends.get(group - 1)

    def count(group: Int): Int = if (group < ends.limit()) ends.get(group) - start(group) else 0

    def copy(group: Int, to: Array[Long], at: Int): Unit =
      if (group < ends.limit()) ids.get(start(group), to, at, count(group))

    /** The same, stored in `room`. */
    def in(room: ByteBuffer): Segment = {
      val idsThere = room.slice(0, 8 * ids.limit()).asLongBuffer().put(0, ids, 0, ids.limit())
      val endsThere = room.slice(8 * ids.limit(), 4 * ends.limit()).asIntBuffer().put(0, ends, 0, ends.limit())
      new Segment(endsThere, idsThere)
    }
  }

  /** Counts to where each group starts; returns the sum. */
  private def toStarts(counts: Array[Int]): Int = {
    var sum = 0
    var g = 0
    while (g < counts.length) {
      val count = counts(g)
      counts(g) = sum
      sum += count
      g += 1
    }
    sum
  }

  /** Each group in ascending order without duplicates, moved up to the one before; returns how many ids are left. */
  private def settleEach(all: Array[Long], ends: Array[Int]): Int = {
    var kept = 0
    var from = 0
    var g = 0
    while (g < ends.length) {
      val until = ends(g)
      val size = settle(all, from, until)
      if (kept != from) System.arraycopy(all, from, all, kept, size)
      kept += size
      ends(g) = kept
      from = until
      g += 1
    }
    kept
  }

  /** Sorts ids(from until until) and drops duplicates; returns how many are left. */
  private def settle(ids: Array[Long], from: Int, until: Int): Int = {
    var i = from + 1
    while (i < until && ids(i - 1) < ids(i)) i += 1
    if (i >= until) return until - from
    java.util.Arrays.sort(ids, from, until)
    var kept = from + 1
    i = from + 1
    while (i < until) {
      if (ids(i) != ids(kept - 1)) {
        ids(kept) = ids(i)
        kept += 1
      }
      i += 1
    }
    kept - from
  }
}
