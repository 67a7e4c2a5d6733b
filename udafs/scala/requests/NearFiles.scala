package org.apache.spark.sql.forwardlineage

import java.io.{FileNotFoundException, IOException}
import java.nio.file.{Files, Path, Paths}
import java.nio.file.attribute.FileTime
import java.util.concurrent.TimeUnit

import scala.jdk.CollectionConverters._
import scala.util.Using

/**
 * Local files of the driver's machine, for those who are on another one: as `row_ids/data_files.py` looks at files of its own machine, to
 * the nanosecond and with inodes, since manifests say both. Answers are as those of `TableFiles`.
 */
private[sql] object NearFiles {
  private val Hidden = Set('.', '_')
  private val Unfinished = "._COPYING_"

  /** path → path, size, nanoseconds and inode of each file that Spark reads under it. */
  def under(place: String): String = TableFiles.answer(place) {
    val path = Paths.get(place)
    if (Files.isDirectory(path)) walk(path).flatMap(fields)
    else if (Files.exists(path)) fields(path)
    else throw new FileNotFoundException(place)
  }

  /** paths → the same of each that is there. */
  def some(files: String): String = TableFiles.answer("") {
    TableFiles.parts(files).map(Paths.get(_)).filter(Files.isRegularFile(_)).flatMap(fields)
  }

  private def walk(folder: Path): Seq[Path] = {
    val entries = Using.resource(Files.list(folder))(_.iterator.asScala.toVector)
    entries.flatMap { entry =>
      val name = entry.getFileName.toString
      if (Files.isDirectory(entry)) { if (name.contains('=') && !name.startsWith(".")) walk(entry) else Nil }
      else if (name.headOption.exists(Hidden) || name.endsWith(Unfinished)) Nil
      else Seq(entry)
    }
  }

  private def fields(path: Path): Seq[String] = {
    val said = Files.readAttributes(path, "unix:size,lastModifiedTime,ino,isRegularFile")
    if (said.get("isRegularFile") != java.lang.Boolean.TRUE) throw new IOException("it is a pipe or a device, and no file")
    val modified = said.get("lastModifiedTime").asInstanceOf[FileTime].to(TimeUnit.NANOSECONDS)
    Seq(path.toString, said.get("size").toString, modified.toString, said.get("ino").toString)
  }
}
