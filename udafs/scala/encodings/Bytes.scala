package org.apache.spark.sql.forwardlineage

/** Reads a byte array; every step is checked against the end, so malformed input can only raise. */
final class ByteReader(val bytes: Array[Byte], start: Int) {
  private var at = start

  def position: Int = at
  def remaining: Int = bytes.length - at

  def need(count: Long, what: String): Unit =
    if (count < 0 || count > remaining) LineageErrors.corrupt("truncated", s"$what needs $count bytes, $remaining are left", at)

  def skip(count: Int): Unit = at += count

  def byte(what: String): Int = {
    if (at >= bytes.length) LineageErrors.corrupt("truncated", s"it ends inside $what", at)
    val value = bytes(at) & 0xff
    at += 1
    value
  }

  /** Unsigned LEB128, at most 9 bytes (63 bits), shortest form only. */
  def varint(what: String): Long = {
    if (at < bytes.length && bytes(at) >= 0) { // one byte: by far the most frequent
      at += 1
      return bytes(at - 1)
    }
    var value = 0L
    var shift = 0
    while (true) {
      if (at >= bytes.length) LineageErrors.corrupt("truncated", s"it ends inside $what", at)
      val b = bytes(at)
      at += 1
      value |= (b & 0x7fL) << shift
      if (b >= 0) {
        if (b == 0 && shift > 0) LineageErrors.corrupt("varint", s"$what is written longer than need be", at - 1)
        return value
      }
      shift += 7
      if (shift == 63) LineageErrors.corrupt("varint", s"$what has more than 63 bits", at - 1)
    }
    value
  }

  def u16(): Int = {
    val value = (bytes(at) & 0xff) | (bytes(at + 1) & 0xff) << 8
    at += 2
    value
  }

  def u32(): Long = {
    val low = u16()
    low | u16().toLong << 16
  }

  def u64(): Long = {
    val low = u32()
    low | u32() << 32
  }

  /** Nothing may follow a value. */
  def expectEnd(): Unit =
    if (remaining != 0) LineageErrors.corrupt("trailing", s"$remaining bytes follow its end", at)
}

/** A growing byte array, little-endian. */
final class ByteSink(capacity: Int) {
  private var held = new Array[Byte](capacity)
  private var n = 0

  def length: Int = n

  private def room(more: Int): Unit =
    if (n + more > held.length) {
      if (n + more < 0) LineageErrors.tooLarge("a lineage value may not be longer than 2 GiB")
      held = java.util.Arrays.copyOf(held, math.max(n + more, math.min(held.length * 2L, Int.MaxValue - 16L).toInt))
    }

  def byte(value: Int): Unit = {
    room(1)
    held(n) = value.toByte
    n += 1
  }

  def bytes(value: Array[Byte]): Unit = {
    room(value.length)
    System.arraycopy(value, 0, held, n, value.length)
    n += value.length
  }

  def varint(value: Long): Unit = {
    room(9)
    n = Varint.write(held, n, value)
  }

  def u16(value: Int): Unit = {
    byte(value)
    byte(value >>> 8)
  }

  def u32(value: Long): Unit = {
    u16(value.toInt)
    u16((value >>> 16).toInt)
  }

  def u64(value: Long): Unit = {
    u32(value)
    u32(value >>> 32)
  }

  /** What has been written, and room behind it. */
  def array: Array[Byte] = held

  def toArray: Array[Byte] = if (n == held.length) held else java.util.Arrays.copyOf(held, n)
}

object Varint {

  /** Bytes that `value` (0 .. 2^63-1) takes. */
  def size(value: Long): Int = (70 - java.lang.Long.numberOfLeadingZeros(value | 1)) / 7

  /** Writes `value` at `at` and returns the position behind it. */
  def write(bytes: Array[Byte], at: Int, value: Long): Int = {
    var v = value
    var i = at
    while (v >= 0x80) {
      bytes(i) = (v | 0x80).toByte
      v >>>= 7
      i += 1
    }
    bytes(i) = v.toByte
    i + 1
  }
}
