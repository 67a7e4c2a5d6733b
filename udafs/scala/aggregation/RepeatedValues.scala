package org.apache.spark.sql.forwardlineage

import java.util.{Arrays, BitSet}

import org.apache.spark.sql.catalyst.expressions.XXH64
import org.apache.spark.unsafe.Platform

/**
 * Numbers long lineage values, equal ones alike.
 *
 * Rows that meet a group carry a copy of its set each: of a scalar subquery, of a relation's row. A union above needs each set
 * once, and to decode one takes ten times as long as to see that it is known. What is kept of them is bounded; when it is full it begins anew, and so do
 * the `Seen` of all groups.
 */
private final class RepeatedValues {
  import RepeatedValues._

  private val values = new Array[Array[Byte]](2 * Most) // open addressing, by hash
  private val numbers = new Array[Int](2 * Most)
  private var count = 0
  private var bytes = 0L
  private var epoch = 0
  private var latest: Array[Byte] = _
  private var latestNumber = 0

  /** Whether a group sees a value for the first time, as far as is known. */
  def isNewTo(seen: Seen, value: Array[Byte]): Boolean = {
    val number = numberOf(value)
    if (seen.epoch != epoch) {
      seen.numbers.clear()
      seen.epoch = epoch
    }
    val isNew = !seen.numbers.get(number)
    if (isNew) seen.numbers.set(number)
    isNew
  }

  private def numberOf(value: Array[Byte]): Int = {
    if (!Arrays.equals(value, latest)) {
      latestNumber = find(value)
      latest = value
    }
    latestNumber
  }

  private def find(value: Array[Byte]): Int = {
    if (count == Most || bytes + value.length > MostBytes) beginAnew()
    val hash = XXH64.hashUnsafeBytes(value, Platform.BYTE_ARRAY_OFFSET, value.length, 0)
    var i = hash.toInt & (values.length - 1)
    while (values(i) != null && !Arrays.equals(values(i), value)) i = i + 1 & (values.length - 1)
    if (values(i) == null) {
      values(i) = value
      numbers(i) = count
      count += 1
      bytes += value.length
    }
    numbers(i)
  }

  private def beginAnew(): Unit = {
    Arrays.fill(values.asInstanceOf[Array[AnyRef]], null)
    count = 0
    bytes = 0
    epoch += 1
  }
}

private object RepeatedValues {
  private val Most = 1 << 12
  private val MostBytes = 64L << 20

  /** The numbers of the values that a group has. */
  final class Seen {
    private[RepeatedValues] val numbers = new BitSet
    private[RepeatedValues] var epoch = 0
  }
}
