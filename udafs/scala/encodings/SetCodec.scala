package org.apache.spark.sql.forwardlineage

/** Tag 00: sorted ids as delta varints (FORMAT.md). */
object SetCodec {
  val Tag = 0
  private val Slice = 1 << 10 // ids that are handed on at a time

  /** Bytes of the whole value, tag included. */
  def sizeOf(ids: IdSource): Long = measure(ids).size

  /** Size of the value, and how many 2^16 blocks its ids lie in. */
  def measure(ids: IdSource): Measure = {
    val sizer = new Measure(1L + Varint.size(ids.count))
    ids.foreach(sizer)
    sizer
  }

  /** @param size what `sizeOf` gave */
  def encode(ids: IdSource, size: Int): Array[Byte] = {
    val writer = new Writer(new Array[Byte](size), ids.count)
    ids.foreach(writer)
    writer.bytes
  }

  /** The whole value of ids(from until from + n), strictly ascending: without any object beside the bytes. */
  def encodeSlice(ids: Array[Long], from: Int, n: Int): Array[Byte] = {
    val end = from + n
    var size = 1 + Varint.size(n)
    var previous = -1L
    var i = from
    while (i < end) {
      size += Varint.size(ids(i) - previous - 1)
      previous = ids(i)
      i += 1
    }
    val bytes = new Array[Byte](size)
    var at = Varint.write(bytes, 1, n)
    previous = -1L
    i = from
    while (i < end) {
      at = Varint.write(bytes, at, ids(i) - previous - 1)
      previous = ids(i)
      i += 1
    }
    bytes
  }

  /** {id} */
  def single(id: Long): Array[Byte] = {
    val bytes = new Array[Byte](2 + Varint.size(id))
    bytes(1) = 1
    Varint.write(bytes, 2, id)
    bytes
  }

  /** Number of ids, after the tag; never more than the bytes that follow it. */
  def readCount(reader: ByteReader): Int = {
    val at = reader.position
    val count = reader.varint("the number of ids")
    if (count > reader.remaining) LineageErrors.corrupt("truncated", s"$count ids announced, ${reader.remaining} bytes follow", at)
    count.toInt
  }

  def decode(reader: ByteReader, sink: IdSink): Unit = {
    val count = readCount(reader)
    val slice = new Array[Long](math.min(count, Slice))
    var left = count
    var previous = -1L
    while (left > 0) {
      val n = math.min(left, Slice)
      var i = 0
      while (i < n) {
        previous = nextId(reader, previous)
        slice(i) = previous
        i += 1
      }
      sink.addSlice(slice, 0, n)
      left -= n
    }
    reader.expectEnd()
  }

  def nextId(reader: ByteReader, previous: Long): Long = {
    val id = previous + 1 + reader.varint("an id")
    if (id < 0) LineageErrors.corrupt("range", "an id beyond 2^63-1", reader.position)
    id
  }

  /** The whole value is read, so that a damaged one is noticed. */
  def contains(reader: ByteReader, wanted: Long): Boolean = {
    val finder = new FindId(wanted)
    decode(reader, finder)
    finder.found
  }

  def count(reader: ByteReader): Long = {
    val counter = new CountIds
    decode(reader, counter)
    counter.count
  }

  /** The largest id of a whole value, 0 when there is none. */
  def largest(bytes: Array[Byte]): Long = {
    val reader = new ByteReader(bytes, 1)
    var left = readCount(reader)
    var id = -1L
    while (left > 0) {
      id = nextId(reader, id)
      left -= 1
    }
    math.max(id, 0)
  }

  final class Measure(before: Long) extends IdConsumer {
    var size: Long = before
    var blocks = 0
    private var previous = -1L

    override def accept(ids: Array[Long], from: Int, until: Int): Unit = {
      var last = previous
      var total = 0L
      var block = -1L // no block is split over two calls
      var i = from
      while (i < until) {
        val id = ids(i)
        total += Varint.size(id - last - 1)
        last = id
        if (id >>> 16 != block) {
          block = id >>> 16
          blocks += 1
        }
        i += 1
      }
      previous = last
      size += total
    }
  }

  private final class Writer(val bytes: Array[Byte], count: Long) extends IdConsumer {
    private var at = Varint.write(bytes, 1, count) // bytes(0) is the tag, 0
    private var previous = -1L

    override def accept(ids: Array[Long], from: Int, until: Int): Unit = {
      var last = previous
      var position = at
      var i = from
      while (i < until) {
        position = Varint.write(bytes, position, ids(i) - last - 1)
        last = ids(i)
        i += 1
      }
      previous = last
      at = position
    }
  }
}
