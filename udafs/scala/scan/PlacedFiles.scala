package org.apache.spark.sql.forwardlineage

import java.io.{ByteArrayOutputStream, DataOutputStream}
import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.unsafe.types.UTF8String

/** A Parquet file of a registered table: what it was at registration, and the id of its first row. */
final case class PlacedFile(size: Long, modifiedMillis: Long, offset: Long)

/**
 * The files of one version of a registered table, by the path that `_metadata.file_path` shows.
 *
 * A file that is not the registered one stops the query: its rows have no ids.
 *
 * Every task gets a copy. It travels as bytes, which take no time to read back, and is unpacked when the first row comes.
 * Two of equal content are equal: else Spark would not see that two scans are the same one, which it could do once.
 *
 * @param rowsPerByte of all files together, where the table's own reader tells Spark how many rows there are, as Iceberg's does
 */
final class PlacedFiles(private val table: String, private val packed: Array[Byte], val rowsPerByte: Option[Double]) extends Serializable {
  @transient private lazy val files: java.util.HashMap[String, PlacedFile] = PlacedFiles.unpack(packed)
  @transient private lazy val offsets: java.util.TreeSet[java.lang.Long] = {
    val found = new java.util.TreeSet[java.lang.Long]
    files.values.forEach(file => found.add(file.offset))
    found
  }

  override def equals(other: Any): Boolean = other match {
    case that: PlacedFiles => table == that.table && java.util.Arrays.equals(packed, that.packed)
    case _ => false
  }

  override def hashCode: Int = java.util.Arrays.hashCode(packed)

  /** The id of the first row of a file. */
  def offset(path: UTF8String, size: Long, modifiedMicros: Long): Long = {
    val file = files.get(path.toString)
    if (file == null) broken(path, "is not among the registered files of")
    if (file.size != size || file.modifiedMillis != modifiedMicros / 1000) broken(path, "has changed since the registration of")
    file.offset
  }

  /** The ids that rows of a file may have, [first, end); None of a file that is not registered. */
  def ids(path: String): Option[(Long, Long)] = Option(files.get(path)).map { file =>
    val next = offsets.higher(file.offset)
    (file.offset, if (next == null) Long.MaxValue else next)
  }

  private def broken(path: UTF8String, what: String): Nothing =
    LineageErrors.refuse(s"$path $what $table, so its rows have no ids. Call lineage.refresh('$table').")
}

object PlacedFiles {

  /**
   * @param table its name, for messages
   * @param files each with its path
   * @param rowsPerByte see the class
   */
  def apply(table: String, files: Seq[(String, PlacedFile)], rowsPerByte: Option[Double]): PlacedFiles = {
    val bytes = new ByteArrayOutputStream
    val out = new DataOutputStream(bytes)
    out.writeInt(files.size)
    for ((path, file) <- files) {
      val encoded = path.getBytes(UTF_8)
      out.writeInt(encoded.length)
      out.write(encoded)
      out.writeLong(file.size)
      out.writeLong(file.modifiedMillis)
      out.writeLong(file.offset)
    }
    new PlacedFiles(table, bytes.toByteArray, rowsPerByte)
  }

  private def unpack(packed: Array[Byte]): java.util.HashMap[String, PlacedFile] = {
    val in = ByteBuffer.wrap(packed)
    val count = in.getInt
    val files = new java.util.HashMap[String, PlacedFile](2 * count)
    for (_ <- 0 until count) {
      val path = new Array[Byte](in.getInt)
      in.get(path)
      files.put(new String(path, UTF_8), PlacedFile(in.getLong, in.getLong, in.getLong))
    }
    files
  }
}
