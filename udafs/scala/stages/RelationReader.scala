package org.apache.spark.sql.forwardlineage

import java.util.Arrays

/** A relation that is read row by row, by number. Anybody may have written the bytes: nothing is read beyond their end. */
private final class RelationReader(val bytes: Array[Byte]) {
  import RelationBytes._

  refusalIn(bytes).foreach(LineageErrors.tooLarge)
  val rows: Int = checkedRows
  private val ofIds = bytes(0) == Ids
  private val frames = bytes(1)
  private val own = Head + 8 * rows // ids, or ends
  private val values = own + 4 * rows
  private val framed = if (ofIds) own + 8 * rows else values + (if (rows == 0) 0 else end(rows - 1))
  // Stored values are quick ones. Many rows look the same one up; two threads that do at once write the same bytes.
  private lazy val encoded = new Array[Array[Byte]](rows)
  if (framed < 0 || framed + Framed.toLong * rows * frames != bytes.length) damaged()

  private def checkedRows: Int = {
    if (bytes.length < Head || bytes(0) != Ids && bytes(0) != Values || bytes(1) < 0) damaged()
    val announced = int(bytes, 2)
    if (announced < 0 || announced > (bytes.length - Head) / (if (bytes(0) == Ids) 16 else 12)) damaged()
    announced
  }

  private def damaged(): Nothing = LineageErrors.refuse("this is no relation that dl_relation returned in the same query.")

  def number(row: Int): Long = long(bytes, Head + 8 * row)
  def id(row: Int): Long = long(bytes, own + 8 * row)
  private def end(row: Int): Int = int(bytes, own + 4 * row)

  /** The lineage value of a row; no bytes for none. */
  def value(row: Int): Array[Byte] = {
    val from = if (row == 0) 0 else end(row - 1)
    val until = end(row)
    if (from < 0 || until < from || until > bytes.length - values) damaged()
    Arrays.copyOfRange(bytes, values + from, values + until)
  }

  def frame(row: Int, frame: Int): Array[Byte] = {
    val at = framed + Framed * rows * frame + FrameBytes.Size * row
    Arrays.copyOfRange(bytes, at, at + FrameBytes.Size)
  }

  /** The union of the lineage of the rows with these numbers, ascending. */
  def union(numbers: Array[Long], setting: Int): Array[Byte] =
    if (numbers.length == 1 && frames == 0) single(numbers(0), setting)
    else {
      val state = new UnionState
      val found = numbers.map(find)
      found.foreach(addOwn(_, state))
      for (frame <- 0 until frames) addFrames(found, frame, state)
      state.result(setting)
    }

  private def single(number: Long, setting: Int): Array[Byte] = {
    val row = find(number)
    if (ofIds) { if (id(row) == NoId) Encoding.empty(setting) else LineageValues.single(id(row), setting) }
    else {
      if (encoded(row) == null) {
        val state = new UnionState
        addOwn(row, state)
        encoded(row) = state.result(setting)
      }
      encoded(row)
    }
  }

  private def addOwn(row: Int, state: UnionState): Unit =
    if (ofIds) { if (id(row) != NoId) state.addId(id(row)) }
    else {
      val stored = value(row)
      if (stored.length > 0) state.addValue(stored)
    }

  /** Frames of neighbours overlap: their stretches of places are united before any row is looked at. */
  private def addFrames(found: Array[Int], frame: Int, state: UnionState): Unit = {
    val index = new FrameIndex(frame)
    val stretches = found.map(index.stretch).filter(_._2 > 0).sortBy(_._1)
    var until = 0
    for ((from, size) <- stretches) {
      var at = math.max(from, until)
      while (at < from + size) {
        addOwn(index.row(at), state)
        at += 1
      }
      until = math.max(until, from + size)
    }
  }

  /** The rows of all partitions of a window, one partition after another, each in its order. */
  private final class FrameIndex(frame: Int) {
    private val columns = framed + Framed * rows * frame
    private val order = columns + FrameBytes.Size * rows

    private def partition(row: Int): Long = long(bytes, columns + FrameBytes.Size * row)
    private def part(row: Int, which: Int): Int = int(bytes, columns + FrameBytes.Size * row + 8 + 4 * which)

    def row(at: Int): Int = {
      val found = int(bytes, order + 4 * at)
      if (found < 0 || found >= rows) damaged()
      found
    }

    /** Where the frame of a row begins, and how many rows it has. */
    def stretch(of: Int): (Int, Int) = {
      val size = part(of, 2)
      if (size == 0) (0, 0)
      else {
        val first = part(of, 1) - size + 1
        var low = 0
        var high = rows - 1
        while (low < high) {
          val middle = (low + high) >>> 1
          if (comes(row(middle), partition(of), first)) low = middle + 1 else high = middle
        }
        if (partition(row(low)) != partition(of) || part(row(low), 0) != first || low + size > rows) bug(s"place $first of a window")
        (low, size)
      }
    }

    /** Whether a row comes before a place of a partition. */
    private def comes(row: Int, before: Long, place: Int): Boolean =
      partition(row) < before || partition(row) == before && part(row, 0) < place
  }

  private def find(wanted: Long): Int = {
    var low = 0
    var high = rows - 1
    while (low < high) {
      val middle = (low + high) >>> 1
      if (number(middle) < wanted) low = middle + 1 else high = middle
    }
    // A number comes from the very rows that the relation was made of, unless Spark has lost them and made them again.
    if (rows == 0 || number(low) != wanted) { if (frames > 0) computedAgain() else bug(s"row $wanted of a stage") }
    low
  }

  private def computedAgain(): Nothing = LineageErrors.refuse(
    "Spark has computed a window twice, as it does when an executor is lost, and has seen rows that are equal to its ORDER BY in another " +
      "order. Run the query again, or add columns to ORDER BY until no two rows are equal, or SET spark.forward_lineage.by_reference = false.")

  private def bug(what: String): Nothing =
    LineageErrors.refuse(s"$what is not there. This is a bug of forward_lineage: please report the query.")
}
