package org.apache.spark.sql.forwardlineage

/** BLAKE2b without a key, of eight bytes: the hash that Python's hashlib gives with digest_size=8.   [RFC 7693] */
private object Blake2b {
  private val Block = 128
  private val Rounds = 12
  private val Start = Array(
    0x6a09e667f3bcc908L, 0xbb67ae8584caa73bL, 0x3c6ef372fe94f82bL, 0xa54ff53a5f1d36f1L,
    0x510e527fade682d1L, 0x9b05688c2b3e6c1fL, 0x1f83d9abfb41bd6bL, 0x5be0cd19137e2179L)
  private val Parameters = 0x01010008L // no key, one leaf, eight bytes
  private val Order = Array(
    "0123456789abcdef", "ea489fd61c02b753", "b8c052fdae367194", "7931dcbe265a40f8", "905724afe1bc683d",
    "2c6a0b834d75fe19", "c51fed4a0763928b", "db7ec13950f4862a", "6fe9b308c2d714a5", "a2847615fb9e3cd0")
    .map(_.map(Character.digit(_, 16)).toArray)

  /** The eight bytes as a number, low byte first. */
  def hash(bytes: Array[Byte]): Long = {
    val state = Start.clone()
    state(0) ^= Parameters
    val words = new Array[Long](16)
    val work = new Array[Long](16)
    var done = 0
    while (bytes.length - done > Block) {
      compress(state, words, work, bytes, done, Block, last = false)
      done += Block
    }
    compress(state, words, work, bytes, done, bytes.length - done, last = true)
    state(0)
  }

  private def compress(state: Array[Long], words: Array[Long], v: Array[Long], bytes: Array[Byte], from: Int, length: Int, last: Boolean): Unit = {
    java.util.Arrays.fill(words, 0L)
    for (i <- 0 until length) words(i >> 3) |= (bytes(from + i) & 0xffL) << (8 * (i & 7))
    System.arraycopy(state, 0, v, 0, 8)
    System.arraycopy(Start, 0, v, 8, 8)
    v(12) ^= from + length
    if (last) v(14) = ~v(14)
    for (round <- 0 until Rounds) {
      val s = Order(round % Order.length)
      mix(v, 0, 4, 8, 12, words(s(0)), words(s(1)))
      mix(v, 1, 5, 9, 13, words(s(2)), words(s(3)))
      mix(v, 2, 6, 10, 14, words(s(4)), words(s(5)))
      mix(v, 3, 7, 11, 15, words(s(6)), words(s(7)))
      mix(v, 0, 5, 10, 15, words(s(8)), words(s(9)))
      mix(v, 1, 6, 11, 12, words(s(10)), words(s(11)))
      mix(v, 2, 7, 8, 13, words(s(12)), words(s(13)))
      mix(v, 3, 4, 9, 14, words(s(14)), words(s(15)))
    }
    for (i <- 0 until 8) state(i) ^= v(i) ^ v(i + 8)
  }

  private def mix(v: Array[Long], a: Int, b: Int, c: Int, d: Int, x: Long, y: Long): Unit = {
    v(a) += v(b) + x
    v(d) = java.lang.Long.rotateRight(v(d) ^ v(a), 32)
    v(c) += v(d)
    v(b) = java.lang.Long.rotateRight(v(b) ^ v(c), 24)
    v(a) += v(b) + y
    v(d) = java.lang.Long.rotateRight(v(d) ^ v(a), 16)
    v(c) += v(d)
    v(b) = java.lang.Long.rotateRight(v(b) ^ v(c), 63)
  }
}
