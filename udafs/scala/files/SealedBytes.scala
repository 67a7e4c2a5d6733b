package org.apache.spark.sql.forwardlineage

import java.nio.charset.StandardCharsets.ISO_8859_1
import java.util.zip.CRC32

/** Bytes of JSON that end with the CRC-32 of what stands before it, on a line of its own; see `forward_lineage.storage.sealed`. */
object SealedBytes {
  private val Checksum = "(?s)(,\n \"checksum\": ([0-9]{1,10})\n\\}\n)$".r.unanchored
  private val LongestChecksum = 40 // bytes

  /** What is wrong with them; None: they are whole. */
  def fault(bytes: Array[Byte]): Option[String] = {
    val start = math.max(0, bytes.length - LongestChecksum)
    new String(bytes, start, bytes.length - start, ISO_8859_1) match {
      case Checksum(ending, said) =>
        val found = new CRC32
        found.update(bytes, 0, bytes.length - ending.length)
        if (found.getValue == said.toLong) None else Some(s"its checksum is $said and that of its bytes ${found.getValue}")
      case _ => Some("it does not end with its checksum")
    }
  }
}
