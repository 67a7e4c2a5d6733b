package org.apache.spark.sql.forwardlineage

/**
 * Which bytes a set becomes. `auto` takes the shortest encoding, on a tie the lowest tag; `bdd` and `set` force one; `quick` is
 * `auto` without the BDD, for values that are read once, soon: to make and to take apart a BDD costs more than its bytes save.
 * Canonical: the bytes depend on the set and the setting only (FORMAT.md).
 */
object Encoding {
  val Key = "spark.forward_lineage.encoding"
  val Auto = 0
  val Set = 1
  val Bdd = 2
  val Quick = 3
  private val Names = Seq("auto", "set", "bdd", "quick")

  def parse(name: String): Int = {
    val setting = Names.indexOf(name.trim.toLowerCase(java.util.Locale.ROOT))
    if (setting < 0) throw new IllegalArgumentException(s"$Key is '$name'; it can be ${Names.mkString(", ")}.")
    setting
  }

  /** The setting of the session that analyses the query. */
  def current: Int = parse(org.apache.spark.sql.internal.SQLConf.get.getConfString(Key, "auto"))

  def encode(ids: IdSource, setting: Int): Array[Byte] = setting match {
    case Set => SetCodec.encode(ids, checked(SetCodec.sizeOf(ids)))
    case Bdd => BddCodec.encode(ids, Int.MaxValue - 16)
    case _ => shortest(ids, withBdd = setting == Auto)
  }

  def empty(setting: Int): Array[Byte] = encode(new SortedIds(Array.emptyLongArray, 0), setting)

  /** {id}; a single id is never shorter as a BDD or a bitmap. */
  def single(id: Long, setting: Int): Array[Byte] =
    if (setting == Bdd) encode(new SortedIds(Array(id), 1), setting) else SetCodec.single(id)

  private def shortest(ids: IdSource, withBdd: Boolean): Array[Byte] = {
    val measure = SetCodec.measure(ids)
    val setSize = measure.size
    val plan = if (setSize > RoaringCodec.leastSize(measure.blocks)) RoaringCodec.plan(ids) else null
    val roaringSize = if (plan == null) Long.MaxValue else plan.size
    // Its tag is between the two: on a tie it gives way to the sorted ids, and wins over Roaring.
    val bdd = if (withBdd) BddCodec.encode(ids, math.min(setSize - 1, roaringSize)) else null
    if (bdd != null) bdd
    else if (setSize <= roaringSize) SetCodec.encode(ids, checked(setSize))
    else {
      checked(roaringSize)
      RoaringCodec.encode(ids, plan)
    }
  }

  /** Whether bytes that `SetCodec` wrote surely are what `encode` gives for the same set. */
  def isFinal(bytes: Array[Byte], setting: Int): Boolean =
    bytes(0) == SetCodec.Tag &&
      (setting == Set || setting != Bdd && bytes.length <= RoaringCodec.SmallestSize &&
        nothingShorter(bytes.length, SetCodec.largest(bytes)))

  /**
   * Whether `auto` and `quick` take the sorted ids when they take `size` bytes, without a look at the others: if the largest id has b bits,
   * a BDD takes b + 4 bytes or, for all of 0 .. 2^b - 1, b + 3, and Roaring never less than `SmallestSize`.
   */
  def nothingShorter(size: Int, largest: Long): Boolean =
    size <= RoaringCodec.SmallestSize && size <= 64 - java.lang.Long.numberOfLeadingZeros(largest) + 3

  private def checked(size: Long): Int = {
    if (size > Int.MaxValue - 16) LineageErrors.tooLarge(s"a lineage value of $size bytes is beyond the 2 GiB of a BINARY")
    size.toInt
  }
}
