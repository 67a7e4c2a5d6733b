package org.apache.spark.sql.forwardlineage

import java.util.Arrays

/**
 * A relation while it is collected, row by row.
 *
 * @param ofIds whether rows have an id; else a lineage value
 * @param frames how many window frames a row has
 */
final class RelationState(ofIds: Boolean, frames: Int) {
  import RelationBytes._
  import RelationState._

  private var n = 0
  private var numbers = new Array[Long](16)
  private var ids = if (ofIds) new Array[Long](16) else null
  private var ends = if (ofIds) null else new Array[Int](16)
  private var values = if (ofIds) null else new ByteSink(256)
  private var framed = Array.fill(frames)(new ByteSink(256))
  private var whole: Array[Byte] = _ // instead of rows: the bytes that another task has made of its own
  private var refusal: String = _ // instead of rows: why there are none
  private lazy val memory = new StageMemory
  private var held = Unasked

  /** @param own an id, or a lineage value; null for neither */
  def add(number: Long, own: Any, frame: Int => Array[Byte]): Unit = if (refusal == null) orRefuse {
    if (whole != null) open()
    addRow(number, own, frame)
  }

  private def addRow(number: Long, own: Any, frame: Int => Array[Byte]): Unit = {
    val needed = if (n == numbers.length) 2 * taken else taken
    if (needed > held) hold(needed + needed / 4)
    grow()
    numbers(n) = number
    if (ofIds) ids(n) = if (own == null) NoId else own.asInstanceOf[Long]
    else {
      if (own != null) {
        val value = own.asInstanceOf[Array[Byte]]
        checkSize(values.length.toLong + value.length)
        values.bytes(value)
      }
      ends(n) = values.length
    }
    for (i <- framed.indices) framed(i).bytes(frame(i))
    n += 1
  }

  def addAll(other: RelationState): Unit = addAll(other.toBytes)

  def addAll(other: Array[Byte]): Unit =
    if (refusal == null) {
      if (n == 0 && whole == null) whole = other
      else orRefuse {
        if (whole != null) open()
        addRows(other)
      }
    }

  private def open(): Unit = {
    val first = whole
    whole = null
    addRows(first)
  }

  private def addRows(other: Array[Byte]): Unit = {
    for (why <- refusalIn(other)) throw new StageRefused(why)
    val reader = new RelationReader(other)
    for (row <- 0 until reader.rows) {
      val own: Any = if (!ofIds) reader.value(row) else if (reader.id(row) == NoId) null else reader.id(row)
      addRow(reader.number(row), own, reader.frame(row, _))
    }
  }

  private def grow(): Unit = if (n == numbers.length) {
    if (n > MostRows) StageMemory.refuse(s"a stage of more than $MostRows rows is too large to be looked up")
    val more = n * 2
    numbers = Arrays.copyOf(numbers, more)
    if (ofIds) ids = Arrays.copyOf(ids, more) else ends = Arrays.copyOf(ends, more)
  }

  /** Bytes of the arrays, those that are copied as they grow included. */
  private def taken: Long =
    numbers.length * (if (ofIds) 16L else 12L) + 2 * ((if (ofIds) 0L else values.length.toLong) + n.toLong * FrameBytes.Size * frames)

  private def hold(bytes: Long): Unit = {
    memory.hold(bytes)
    held = bytes
  }

  /** The relation as the query reads it: not too large to be sent around. Else it says so to whoever looks a row up. */
  def result: Array[Byte] = {
    toBytes
    if (refusal == null) orRefuse(StageMemory.checkCopies(toBytes.length))
    toBytes
  }

  /** Of a relation that is whole, the bytes; that becomes the only form it has. */
  def toBytes: Array[Byte] = {
    if (refusal == null && whole == null) orRefuse {
      whole = written
      forget()
    }
    if (refusal != null) refused(refusal) else whole
  }

  private def checkSize(bytes: Long): Unit =
    if (bytes > MostBytes) StageMemory.refuse(s"the lineage of a stage takes more than $MostBytes bytes, too many to be looked up")

  /** That there is no memory is no reason to end the JVM: the relation is given up, and says why. */
  private def orRefuse(body: => Unit): Unit = {
    val why =
      try {
        body
        null
      } catch {
        case refused: StageRefused => refused.getMessage
        case _: OutOfMemoryError => StageMemory.noHeap(2 * taken)
      }
    if (why != null) {
      refusal = why
      whole = null
      forget()
    }
  }

  private def forget(): Unit = {
    n = 0
    numbers = new Array[Long](16)
    if (ofIds) ids = new Array[Long](16)
    else {
      ends = new Array[Int](16)
      values = new ByteSink(256)
    }
    framed = Array.fill(frames)(new ByteSink(256))
    if (held > Unasked) memory.release()
    held = Unasked
  }

  private def written: Array[Byte] = {
    if (held > Unasked) hold(taken + (24L + 16) * n + Framed.toLong * n * frames + (if (ofIds) 0 else values.length)) // sorted, and written
    val places = Array.range(0, n)
    val sorted = Arrays.copyOf(numbers, n)
    SortPairs.sort(sorted, places, n)
    val rows = dropRepeated(sorted, places)
    val size = Head + 8L * rows + ownSize(places, rows) + Framed.toLong * rows * frames
    checkSize(size)
    val result = new Array[Byte](size.toInt)
    result(0) = (if (ofIds) Ids else Values).toByte
    result(1) = frames.toByte
    putInt(result, 2, rows)
    for (row <- 0 until rows) putLong(result, Head + 8 * row, sorted(row))
    var at = writeOwn(result, Head + 8 * rows, places, rows)
    for (frame <- framed) at = writeFrame(result, at, frame.array, places, rows)
    result
  }

  /** Keeps one row of each number; returns how many there are. */
  private def dropRepeated(sorted: Array[Long], places: Array[Int]): Int = {
    var kept = 0
    for (i <- 0 until n) {
      if (kept > 0 && sorted(kept - 1) == sorted(i)) {
        if (!sameLineage(places(kept - 1), places(i)))
          LineageErrors.refuse(s"two rows of a stage have the number ${sorted(i)} by chance. ${StageMemory.Instead}")
      } else {
        sorted(kept) = sorted(i)
        places(kept) = places(i)
        kept += 1
      }
    }
    kept
  }

  private def start(place: Int): Int = if (place == 0) 0 else ends(place - 1)

  private def sameLineage(a: Int, b: Int): Boolean = {
    val own =
      if (ofIds) ids(a) == ids(b) else Arrays.equals(values.array, start(a), ends(a), values.array, start(b), ends(b))
    own && framed.forall { frame =>
      val size = FrameBytes.Size
      Arrays.equals(frame.array, a * size, (a + 1) * size, frame.array, b * size, (b + 1) * size)
    }
  }

  private def ownSize(places: Array[Int], rows: Int): Long =
    if (ofIds) 8L * rows
    else {
      var total = 4L * rows
      for (row <- 0 until rows) total += ends(places(row)) - start(places(row))
      total
    }

  private def writeOwn(result: Array[Byte], from: Int, places: Array[Int], rows: Int): Int =
    if (ofIds) {
      for (row <- 0 until rows) putLong(result, from + 8 * row, ids(places(row)))
      from + 8 * rows
    } else {
      var end = 0
      for (row <- 0 until rows) {
        val length = ends(places(row)) - start(places(row))
        System.arraycopy(values.array, start(places(row)), result, from + 4 * rows + end, length)
        end += length
        putInt(result, from + 4 * row, end)
      }
      from + 4 * rows + end
    }

  private def writeFrame(result: Array[Byte], from: Int, frame: Array[Byte], places: Array[Int], rows: Int): Int = {
    val size = FrameBytes.Size
    for (row <- 0 until rows) System.arraycopy(frame, places(row) * size, result, from + row * size, size)
    val order = Array.range(0, rows)
    val keys = Array.tabulate(rows)(row => int(result, from + row * size + 8).toLong)
    SortPairs.sort(keys, order, rows) // by place, then by partition: both sorts keep the order of equal keys
    val partitions = Array.tabulate(rows)(at => long(result, from + order(at) * size))
    SortPairs.sort(partitions, order, rows)
    for (at <- 0 until rows) putInt(result, from + rows * size + 4 * at, order(at))
    from + Framed * rows
  }
}

object RelationState {
  private val Unasked = 1L << 20 // bytes that nobody misses
  private val MostRows = 1 << 27
  private val MostBytes = Int.MaxValue - 16L
}
