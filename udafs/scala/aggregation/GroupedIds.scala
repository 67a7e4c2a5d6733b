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
  // Whether the log ends with the ids of the newest group, from `newestFrom` on: all of them, and no others.
  private var newestAlone = false
  private var newestFrom = 0
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
    newestAlone = true
    newestFrom = logged
    groups - 1
  }

  def add(group: Int, id: Long): Unit = {
    if (at == ChunkSize) addChunk()
    if (group != groups - 1) newestAlone = false
    lastGroups(at) = group
    lastIds(at) = id
    at += 1
  }

  private def logged: Int = (chunkIds.length - 1) * ChunkSize + at

  /**
   * Puts the ids of a group into `ids`. Where rows come sorted by group Spark adds to one, reads it, and goes on to the next:
   * then nothing is sorted.
   */
  def read(group: Int): Unit = {
    n = 0
    if (newestAlone && group == groups - 1) readNewest()
    else {
      if (chunkIds.nonEmpty) keep(sorted(), Long.MaxValue)
      var s = 0
      while (s < segments.length) {
        val before = n
        val segment = segments(s)
        makeRoom(segment.count(group))
        n += segment.copy(group, ids, n)
        if (before > 0 && n > before) n = SortedIds.settle(ids, 0, n)
        s += 1
      }
    }
  }

  private def readNewest(): Unit = {
    makeRoom(logged - newestFrom)
    var from = newestFrom
    while (from < logged) {
      val chunk = from / ChunkSize
      val until = math.min(logged, (chunk + 1) * ChunkSize)
      System.arraycopy(chunkIds(chunk), from % ChunkSize, ids, n, until - from)
      n += until - from
      from = until
    }
    n = SortedIds.settle(ids, 0, n)
  }

  private def makeRoom(count: Int): Unit =
    if (n + count > ids.length) ids = java.util.Arrays.copyOf(ids, 2 * (n + count))

  private def addChunk(): Unit = {
    if (chunkIds.length == MostChunks) keep(sorted(), Long.MaxValue)
    val more = acquireMemory(ChunkBytes)
    granted += more
    if (more < ChunkBytes && chunkIds.length >= LeastChunks) {
      // Many rows of a group may bring the same id: then little is left, and can stay.
      val half = 4L * logged
      keep(sorted(), half)
      granted += acquireMemory(ChunkBytes)
    }
    lastGroups = new Array[Int](ChunkSize)
    lastIds = new Array[Long](ChunkSize)
    chunkGroups += lastGroups
    chunkIds += lastIds
    at = 0
  }

  /** Stores a sorted log in the memory that the log had, or in the file if it is more than `most` bytes or Spark refuses. */
  private def keep(segment: Segment, most: Long): Unit = {
    if (segment.bytes > granted) granted += acquireMemory(segment.bytes - granted)
    val onHeap = segment.bytes <= math.min(granted, most)
    segments += (if (onHeap) segment else segment.in(newRoom(segment.bytes)))
    freeMemory(if (onHeap) granted - segment.bytes else granted)
    granted = 0
  }

  /** Empties the log, but for its memory: a counting sort, then each group in ascending order without duplicates. */
  private def sorted(): Segment = {
    val first = lowestGroup
    val ends = new Array[Int](groups - first)
    eachChunk { (chunk, _, length) =>
      var i = 0
      while (i < length) {
        ends(chunk(i) - first) += 1
        i += 1
      }
    }
    val total = toStarts(ends)
    val all = new Array[Long](total)
    eachChunk { (chunk, idsOf, length) =>
      var i = 0
      while (i < length) {
        val group = chunk(i) - first
        all(ends(group)) = idsOf(i)
        ends(group) += 1 // ends where the next group starts
        i += 1
      }
    }
    chunkGroups.clear()
    chunkIds.clear()
    at = ChunkSize
    newestAlone = false
    val kept = settleEach(all, ends)
    new Segment(first, IntBuffer.wrap(ends), LongBuffer.wrap(if (kept <= total / 2) java.util.Arrays.copyOf(all, kept) else all))
  }

  private def lowestGroup: Int = {
    var lowest = groups
    eachChunk { (chunk, _, length) =>
      var i = 0
      while (i < length) {
        if (chunk(i) < lowest) lowest = chunk(i)
        i += 1
      }
    }
    lowest
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

  /** The ids of the groups from `first` on one after another, and where those of each group end. */
  private final class Segment(first: Int, ends: IntBuffer, ids: LongBuffer) {
    def bytes: Long = 8L * ids.limit() + 4L * ends.limit()

    private def has(group: Int): Boolean = group >= first && group - first < ends.limit()
    private def start(group: Int): Int = if (group == first) 0 else ends.get(group - first - 1)

    def count(group: Int): Int = if (has(group)) ends.get(group - first) - start(group) else 0

    /** Returns how many there were. */
    def copy(group: Int, to: Array[Long], at: Int): Int = {
      val n = count(group)
      if (n > 0) ids.get(start(group), to, at, n)
      n
    }

    /** The same, stored in `room`. */
    def in(room: ByteBuffer): Segment = {
      val idsThere = room.slice(0, 8 * ids.limit()).asLongBuffer().put(0, ids, 0, ids.limit())
      val endsThere = room.slice(8 * ids.limit(), 4 * ends.limit()).asIntBuffer().put(0, ends, 0, ends.limit())
      new Segment(first, endsThere, idsThere)
    }
  }

  /** Counts to where each group starts; returns the sum. */
  def toStarts(counts: Array[Int]): Int = {
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
      val size = SortedIds.settle(all, from, until)
      if (kept != from) System.arraycopy(all, from, all, kept, size)
      kept += size
      ends(g) = kept
      from = until
      g += 1
    }
    kept
  }
}
