package org.apache.spark.sql.forwardlineage

import java.io.{EOFException, FileNotFoundException}
import java.util.concurrent.ExecutionException

import scala.util.Using

import org.apache.hadoop.fs.{FSDataInputStream, FileSystem, Path}

/** Bytes of a file that is far away. */
object FileBytes {

  /**
   * A part of a file, or all of it; None: it is not there. Where the part is known, no store is asked how long the file is.
   *
   * @param size how many bytes; negative: all from there to the end
   */
  def read(fs: FileSystem, file: Path, offset: Long, size: Int): Option[Array[Byte]] =
    try {
      if (size < 0) Some(Using.resource(open(fs, file, -1, "whole-file")) { in => in.seek(offset); in.readAllBytes() })
      else Some(Using.resource(open(fs, file, offset + size, if (offset == 0) "whole-file" else "random")) { in =>
        val found = new Array[Byte](size)
        in.readFully(offset, found)
        found
      })
    } catch {
      case _: FileNotFoundException => None
      case _: EOFException => throw new ChangedMeanwhileException(file.toString)
    }

  /** @param size where a file ends, as far as it is read: a store need not be asked; negative: it is not known */
  def open(fs: FileSystem, file: Path, size: Long, policy: String): FSDataInputStream = {
    val asked = fs.openFile(file).opt("fs.option.openfile.read.policy", policy)
    val sized = if (size < 0) asked else asked.opt("fs.option.openfile.length", size.toString)
    try sized.build().get()
    catch { case failed: ExecutionException if failed.getCause != null => throw failed.getCause }
  }
}
