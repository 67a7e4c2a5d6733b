package org.apache.spark.sql.forwardlineage

/** What writers and readers of Roaring's portable format agree on. */
private object RoaringFormat {
  val Tag = 2
  val CookieNoRuns = 12346
  val CookieRuns = 12347
  val NoOffsetsBelow = 4 // containers, in a bitmap with runs
  val MaxArray = 4096
  val BitmapBytes = 8192

  /** Bytes of a container: the smallest of array, run and bitmap. */
  def containerBytes(cardinality: Int, runs: Int): Int =
    math.min(math.min(2 * cardinality, BitmapBytes), 2 + 4 * runs)

  def isRun(cardinality: Int, runs: Int): Boolean = 2 + 4 * runs < math.min(2 * cardinality, BitmapBytes)
}
