package org.apache.spark.sql.forwardlineage

import scala.collection.mutable.ArrayBuffer

/**
 * The groups of more ids than `GroupedIds` takes, each with an `IdBuffer`.
 *
 * To add an id where it belongs is four jumps through memory, from the group to the end of its array, each of which waits for the one before,
 * and rows of different groups come in turns. So ids are written down as they come; when there are enough of them they are put in the order of
 * their groups, in jumps that need not wait, and each group gets its own at once. Where rows of one group follow each
 * other each is added as it comes.
 */
private final class LargeGroups {
  import LargeGroups._

  private val all = ArrayBuffer.empty[LargeGroup]
  // The group that was added to last, how often in a row, and whether its ids go straight to where they belong.
  private var last = -1
  private var streak = 0
  private var straight = false
  private var lastIds: IdBuffer = _
  // What was written down, and room to put it in order.
  private var groups = Array.emptyIntArray
  private var ids = Array.emptyLongArray
  private var inOrder = Array.emptyLongArray
  private var at = 0

  /** @return its number */
  def newGroup(before: Int): Int = {
    all += new LargeGroup(before)
    all.length - 1
  }

  def add(group: Int, id: Long): Unit = {
    if (group == last) {
      streak += 1
      if (streak == Follow && !straight) {
        handOut()
        straight = true
        lastIds = all(group).ids
      }
    } else {
      straight &&= streak >= Follow
      last = group
      streak = 0
      if (straight) lastIds = all(group).ids
    }
    if (straight) lastIds.add(id) else write(group, id)
  }

  /** A group to be added to otherwise. */
  def apply(group: Int): LargeGroup = all(group)

  /** A group to be read: with all that was added. */
  def whole(group: Int): LargeGroup = {
    handOut()
    all(group)
  }

  private def write(group: Int, id: Long): Unit = {
    if (at == ids.length) makeRoom()
    groups(at) = group
    ids(at) = id
    at += 1
  }

  private def makeRoom(): Unit = {
    handOut()
    // A few ids a group at least, or going through the groups costs more than the jumps.
    val size = math.min(MostWritten, math.max(LeastWritten, Integer.highestOneBit(all.length) * 8))
    if (size > ids.length) {
      groups = new Array[Int](size)
      ids = new Array[Long](size)
      inOrder = new Array[Long](size)
    }
  }

  /** Gives each group the ids that were written down for it, in the order in which they came. */
  private def handOut(): Unit = if (at > 0) {
    val ends = new Array[Int](all.length)
    var i = 0
    while (i < at) {
      ends(groups(i)) += 1
      i += 1
    }
    GroupedIds.toStarts(ends)
    i = 0
    while (i < at) {
      val group = groups(i)
      inOrder(ends(group)) = ids(i)
      ends(group) += 1 // ends where the next group starts
      i += 1
    }
    at = 0
    var from = 0
    var group = 0
    while (group < ends.length) {
      if (ends(group) > from) all(group).ids.addSlice(inOrder, from, ends(group))
      from = ends(group)
      group += 1
    }
  }
}

private object LargeGroups {
  private val Follow = 16 // rows of one group in a row: the next one is expected to be of it, too
  private val LeastWritten = 1 << 15 // they, their groups and their order take 640 kB: what a core has close by
  private val MostWritten = 1 << 20
}

/** @param before its number among the `GroupedIds`, which still have its first ids; -1 when they have none */
private final class LargeGroup(var before: Int) {
  val ids = new IdBuffer
  lazy val seen = new RepeatedValues.Seen
}
