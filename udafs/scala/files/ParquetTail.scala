package org.apache.spark.sql.forwardlineage

import java.io.{ByteArrayInputStream, EOFException, FileNotFoundException}
import java.nio.{ByteBuffer, ByteOrder}
import java.nio.charset.StandardCharsets.ISO_8859_1
import java.security.MessageDigest

import scala.util.Using
import scala.util.control.NonFatal

import org.apache.hadoop.fs.{FSDataInputStream, FileSystem, Path}
import org.apache.parquet.format.Util

/** What is read at the end of a Parquet file: how many rows it has, and the footer with all that stands behind it. */
final case class ParquetTail(rows: Long, bytes: Array[Byte]) {
  /** SHA-256 of the footer, hexadecimal. */
  def checksum: String = MessageDigest.getInstance("SHA-256").digest(bytes).map("%02x".format(_)).mkString
}

object ParquetTail {
  private val Guess = 64 << 10 // bytes: most footers are shorter, and one request does
  private val Frame = 8 // bytes behind the footer: its length, and the mark
  private val Mark = "PAR1"

  /** One request, or two: the size is known, and need not be asked for. */
  def read(fs: FileSystem, file: Path, size: Long): ParquetTail = {
    def no(why: String) = throw new NotParquetException(file.toString, why)
    if (size < Frame + Mark.length) no(s"it has $size bytes")
    val guess = math.min(size, Guess).toInt
    try {
      Using.resource(FileBytes.open(fs, file, size, "random")) { in =>
        val end = bytes(in, size, guess)
        if (new String(end, guess - Mark.length, Mark.length, ISO_8859_1) != Mark) no("it does not end as Parquet files do")
        val length = ByteBuffer.wrap(end).order(ByteOrder.LITTLE_ENDIAN).getInt(guess - Frame).toLong
        if (length <= 0 || length + Frame + Mark.length > size) no(s"its footer is said to have $length bytes")
        val whole = (length + Frame).toInt
        val footer = if (whole <= guess) end.takeRight(whole) else bytes(in, size, whole)
        ParquetTail(rows(footer, no), footer)
      }
    } catch { case _: EOFException | _: FileNotFoundException => throw new ChangedMeanwhileException(file.toString) }
  }

  private def rows(footer: Array[Byte], no: String => Nothing): Long =
    try Util.readFileMetaData(new ByteArrayInputStream(footer, 0, footer.length - Frame), true).getNum_rows
    catch { case NonFatal(_) => no("its footer is damaged") }

  private def bytes(in: FSDataInputStream, size: Long, count: Int): Array[Byte] = {
    val found = new Array[Byte](count)
    in.readFully(size - count, found)
    found
  }
}
