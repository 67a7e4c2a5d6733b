package org.apache.spark.sql.forwardlineage

import java.util.Arrays
import java.util.function.LongPredicate
import java.util.zip.CRC32

import scala.collection.mutable.ArrayBuilder

/**
 * A lineage value that many ids are looked up in: its runs of consecutive ids, ascending.
 *
 * It travels as the value's bytes and is taken apart when the first id comes. Generated code calls it as a `LongPredicate`: see `Op`.
 */
final class ChosenIds(private val value: Array[Byte]) extends LongPredicate with Serializable {
  @transient private lazy val runs: IdRuns = IdRuns.of(value)
  @transient private var last = 0 // the run that the id before was in, or behind: ids of a scan come in order

  override def test(id: Long): Boolean = {
    val found = runs.behind(id, last)
    if (found >= 0) last = found
    found >= 0 && id <= runs.lasts(found)
  }

  /** The runs that lie in [from, until), cut to it, as pairs (first, last). */
  def within(from: Long, until: Long): Iterator[(Long, Long)] = {
    val start = math.max(0, runs.behind(from, 0))
    Iterator
      .range(start, runs.firsts.length)
      .takeWhile(runs.firsts(_) < until)
      .filter(runs.lasts(_) >= from)
      .map(i => (math.max(from, runs.firsts(i)), math.min(until - 1, runs.lasts(i))))
  }

  override def equals(other: Any): Boolean = other match {
    case that: ChosenIds => Arrays.equals(value, that.value)
    case _ => false
  }

  override def hashCode: Int = Arrays.hashCode(value)

  /** Plans are printed, and compared by what is printed: not a million ids. */
  override def toString: String = {
    val sum = new CRC32
    sum.update(value, 0, value.length)
    f"ids(${value.length} bytes, ${sum.getValue}%08x)"
  }
}

/** Runs of consecutive ids, first and last, ascending. */
private final class IdRuns(val firsts: Array[Long], val lasts: Array[Long]) {

  /** The last run that begins at or before an id, -1 for none; `near` is where to look first. */
  def behind(id: Long, near: Int): Int =
    if (near < firsts.length && firsts(near) <= id && (near + 1 == firsts.length || id < firsts(near + 1))) near
    else {
      val found = Arrays.binarySearch(firsts, id)
      if (found >= 0) found else -found - 2
    }
}

private object IdRuns {
  def of(value: Array[Byte]): IdRuns = {
    val sink = new RunSink
    if (LineageValues.tag(value) == BddCodec.Tag) LineageValues.idArray(value).foreach(sink.add)
    else LineageValues.decode(value, sink)
    sink.runs
  }
}

/** Collects the runs of ids that come in ascending order. */
private final class RunSink extends IdSink {
  private val firsts, lasts = new ArrayBuilder.ofLong
  private var first = 0L
  private var last = -2L // no id yet: none follows it

  override def add(id: Long): Unit = addRun(id, id)

  override def addRun(from: Long, until: Long): Unit = {
    if (from != last + 1) {
      close()
      first = from
    }
    last = until
  }

  private def close(): Unit = if (last >= 0) {
    firsts += first
    lasts += last
  }

  def runs: IdRuns = {
    close()
    last = -2
    new IdRuns(firsts.result(), lasts.result())
  }
}
