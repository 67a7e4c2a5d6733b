package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.util.ArrayData

/**
 * The union of boxed ids, byte arrays and lists of either, encoded as `setting` says.
 *
 * @param idLists which arguments are lists of ids; other lists are of lineage values
 */
final class UnionOp(setting: Int, idLists: Array[Boolean]) extends Op[Array[AnyRef], Array[Byte]] {
  // Rows of two threads may meet here; then both remember, and the later one stays.
  @transient @volatile private var last: RepeatedValue = _

  override def apply(arguments: Array[AnyRef]): Array[Byte] =
    if (arguments.length == 1 && arguments(0).isInstanceOf[java.lang.Long])
      LineageValues.single(arguments(0).asInstanceOf[Long], setting)
    else {
      val repeated = if (arguments.length > 1) cameBefore(longest(arguments)) else null
      if (repeated != null && arguments.forall(repeated.holds)) repeated.encoded else union(arguments)
    }

  private def union(arguments: Array[AnyRef]): Array[Byte] = {
    val state = new UnionState
    for (i <- arguments.indices) arguments(i) match {
      case null =>
      case id: java.lang.Long => state.addId(id)
      case list: ArrayData => addList(list, idLists(i), state)
      case value => state.addValue(value.asInstanceOf[Array[Byte]])
    }
    state.result(setting)
  }

  private def addList(list: ArrayData, ofIds: Boolean, state: UnionState): Unit =
    for (i <- 0 until list.numElements()) if (!list.isNullAt(i)) {
      if (ofIds) state.addId(list.getLong(i)) else state.addValue(list.getBinary(i))
    }

  private def longest(arguments: Array[AnyRef]): Array[Byte] = {
    var found: Array[Byte] = null
    for (argument <- arguments) argument match {
      case value: Array[Byte] if found == null || value.length > found.length => found = value
      case _ =>
    }
    found
  }

  /** What is known about these bytes, if the row before had them too; null at first sight. */
  private def cameBefore(value: Array[Byte]): RepeatedValue = {
    val known = last
    if (value == null || value.length < RepeatedValue.Least) null
    else if (known != null && java.util.Arrays.equals(known.bytes, value)) { if (known.isSmall) known else null }
    else {
      last = new RepeatedValue(value, setting)
      null
    }
  }
}

/**
 * A lineage value that comes row after row, as that of a subquery that is evaluated once for the whole query does. Under control
 * lineage the rest of a row's lineage is mostly part of it, and then the union is there already (TPC-H Q11: 32,077 ids in each of
 * 1,048 rows).
 */
final class RepeatedValue(val bytes: Array[Byte], setting: Int) {
  lazy val isSmall: Boolean = LineageValues.size(bytes) <= RepeatedValue.MostIds
  private lazy val ids = LineageValues.idArray(bytes)

  lazy val encoded: Array[Byte] = Encoding.encode(new SortedIds(ids, ids.length), setting)

  /** Whether an argument of dl_union adds nothing to this value; false also where it would take long to find out. */
  def holds(argument: AnyRef): Boolean = argument match {
    case null => true
    case id: java.lang.Long => has(id)
    case value: Array[Byte] =>
      java.util.Arrays.equals(value, bytes) ||
        value.length * RepeatedValue.MuchLonger <= bytes.length && LineageValues.idArray(value).forall(has)
    case _ => false
  }

  private def has(id: Long): Boolean = java.util.Arrays.binarySearch(ids, id) >= 0
}

object RepeatedValue {
  /** Bytes: shorter values are united as quickly as looked up. */
  val Least = 64

  /** Ids, 8 bytes each, that every use of dl_union may keep at hand. */
  val MostIds: Long = 1L << 22

  private val MuchLonger = 4
}
