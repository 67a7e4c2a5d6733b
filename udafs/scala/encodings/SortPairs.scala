package org.apache.spark.sql.forwardlineage

import java.util.Arrays

/** Sorts keys (not negative), and with them the places they came from. */
private object SortPairs {

  def sort(keys: Array[Long], places: Array[Int], n: Int): Unit =
    if (n < 48) insertion(keys, places, n) else radix(keys, places, n)

  private def insertion(keys: Array[Long], places: Array[Int], n: Int): Unit = {
    var i = 1
    while (i < n) {
      val key = keys(i)
      val place = places(i)
      var j = i - 1
      while (j >= 0 && keys(j) > key) {
        keys(j + 1) = keys(j)
        places(j + 1) = places(j)
        j -= 1
      }
      keys(j + 1) = key
      places(j + 1) = place
      i += 1
    }
  }

  /** Least significant byte first; bytes in which no two keys differ are skipped, and most are. */
  private def radix(keys: Array[Long], places: Array[Int], n: Int): Unit = {
    var differ = 0L
    var i = 1
    while (i < n) {
      differ |= keys(i) ^ keys(0)
      i += 1
    }
    var from = keys
    var fromPlaces = places
    var to = new Array[Long](n)
    var toPlaces = new Array[Int](n)
    val starts = new Array[Int](257)
    var shift = 0
    while (shift < 64) {
      if ((differ >>> shift & 0xff) != 0) {
        Arrays.fill(starts, 0)
        i = 0
        while (i < n) {
          starts((from(i) >>> shift).toInt.&(0xff) + 1) += 1
          i += 1
        }
        i = 0
        while (i < 256) {
          starts(i + 1) += starts(i)
          i += 1
        }
        i = 0
        while (i < n) {
          val digit = (from(i) >>> shift).toInt & 0xff
          val at = starts(digit)
          starts(digit) = at + 1
          to(at) = from(i)
          toPlaces(at) = fromPlaces(i)
          i += 1
        }
        val swap = from
        from = to
        to = swap
        val swapPlaces = fromPlaces
        fromPlaces = toPlaces
        toPlaces = swapPlaces
      }
      shift += 8
    }
    if (from ne keys) {
      System.arraycopy(from, 0, keys, 0, n)
      System.arraycopy(fromPlaces, 0, places, 0, n)
    }
  }
}
