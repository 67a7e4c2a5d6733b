package org.apache.spark.sql.forwardlineage

import java.nio.ByteBuffer
import java.util.Arrays
import java.util.function.{LongPredicate, Predicate => JPredicate}
import java.util.zip.CRC32

/**
 * Some of the ranges of a column, neighbours merged: where, in the order of the values, one comes to be in them, and where no more.
 *
 * It travels as the bytes that it was made of. Generated code calls it as a predicate on keys: see `Op`.
 *
 * @param packed the bounds, as `Bounds.of` reads them
 * @param chosen the fragments, two bytes each
 */
final class RangeSet(private val packed: Array[Byte], private val chosen: Array[Byte]) extends LongPredicate with Serializable {
  @transient lazy val bounds: Bounds = Bounds.of(packed, "dl_in_ranges")
  @transient private lazy val member: Array[Boolean] = {
    val found = new Array[Boolean](bounds.size + 2)
    val fragments = ByteBuffer.wrap(chosen)
    while (fragments.remaining >= 2) {
      val fragment = fragments.getShort & 0xffff
      if (fragment >= found.length) LineageErrors.refuse("dl_in_ranges: a fragment that there is not.")
      found(fragment) = true
    }
    found
  }

  /** Whether NULL is in it. */
  @transient lazy val nulls: Boolean = member(0)
  @transient private lazy val first: Boolean = member(1)
  @transient private lazy val edges: Bounds =
    bounds.at((0 until bounds.size).filter(i => member(i + 1) != member(i + 2)).toArray)
  @transient private lazy val whole: WholeBounds = edges.asInstanceOf[WholeBounds]
  @transient private var place = 0

  private def isIn(edgesBehind: Int): Boolean = first ^ ((edgesBehind & 1) == 1)

  /** Rows of a scan often come in order: where the one before was is looked at first. */
  override def test(key: Long): Boolean = {
    val values = whole.values
    if ((place > 0 && values(place - 1) > key) || (place < values.length && values(place) <= key)) place = whole.count(key)
    isIn(place)
  }

  def holds(key: Any): Boolean = isIn(edges.behind(key))

  /** Whether a value from one key to another, both inclusive, may be in it. */
  def overlaps(least: Any, most: Any): Boolean = {
    val behind = edges.behind(least)
    isIn(behind) || behind < edges.behind(most)
  }

  override def equals(other: Any): Boolean = other match {
    case that: RangeSet => Arrays.equals(packed, that.packed) && Arrays.equals(chosen, that.chosen)
    case _ => false
  }

  override def hashCode: Int = 31 * Arrays.hashCode(packed) + Arrays.hashCode(chosen)

  /** Plans are printed, and compared by what is printed. */
  override def toString: String = {
    val sum = new CRC32
    sum.update(packed, 0, packed.length)
    sum.update(chosen, 0, chosen.length)
    f"ranges(${chosen.length / 2} fragments, ${sum.getValue}%08x)"
  }
}

/** The same for generated code, of keys that are objects. */
final class RangesOfObjects(ranges: RangeSet) extends JPredicate[Any] with Serializable {
  override def test(key: Any): Boolean = ranges.holds(key)
}
