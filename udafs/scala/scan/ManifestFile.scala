package org.apache.spark.sql.forwardlineage

import java.io.IOException
import java.nio.file.{Files, InvalidPathException, LinkOption, NoSuchFileException, Paths}
import java.nio.file.attribute.BasicFileAttributes

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.core.JsonParser
import com.fasterxml.jackson.databind.{DeserializationFeature, JsonNode, ObjectMapper}
import org.apache.spark.paths.SparkPath

/**
 * What the kernel reads of a manifest, the JSON that `forward_lineage.row_ids` writes for each version of a registered table:
 *
 *     {"format": 2, "name": …, "files": [{"path": …, "size": …, "modified": …, "offset": …}, …], "checksum": …}
 *
 * `modified` is in nanoseconds; other fields are Python's own. Format 1 has no checksum. That of format 2 is the CRC-32 of all
 * bytes before the comma in front of it, and ends the file, on a line of its own. Format 3 is format 2 whose files may lie on
 * any file system: a path is local, or has a scheme. Format 4 is of a table whose own log says which rows have which ids, format
 * 5 of a copy whose rows have a key, format 6 of a table with a log some rows of whose files are gone, format 7 of one whose log is
 * not local; nothing in them is other to the kernel.
 *
 * An id from a wrong offset would be another row's. So a manifest is whole and of a format known here, or it is refused.
 */
object ManifestFile {
  private val Sealed = 2
  private val Anywhere = 3 // with files that are not local
  private val WithALog = 4 // of tables whose format gives the ids
  private val WithAKey = 5 // of copies whose rows have a key
  private val WithDeletedRows = 6 // of tables whose format gives the ids, and takes rows out of files
  private val Newest = 7 // of tables whose format gives the ids, and whose log is not local
  private val Elsewhere = "(?s)[A-Za-z][A-Za-z0-9+.-]*:/.*".r
  private val Largest = 1L << 30 // bytes; three million files

  private val mapper = new ObjectMapper()
    .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
    .enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION)

  /** The files of the table, checked. */
  def read(manifest: String): PlacedFiles = new ManifestFile(manifest, bytes(manifest)).files

  /** A pipe would never end, and a device is no manifest: what is opened must be a file, and not a link in its place. */
  private def bytes(manifest: String): Array[Byte] =
    try {
      val path = Paths.get(manifest)
      val found = Files.readAttributes(path, classOf[BasicFileAttributes], LinkOption.NOFOLLOW_LINKS)
      if (!found.isRegularFile || found.size > Largest)
        LineageErrors.refuse(s"The manifest $manifest is no file that registering wrote, so delete it and register the table again.")
      Files.readAllBytes(path)
    } catch {
      case _: NoSuchFileException => LineageErrors.refuse(s"The manifest $manifest is missing, so register the table again.")
      case e @ (_: IOException | _: InvalidPathException) =>
        LineageErrors.refuse(s"The manifest $manifest cannot be read ($e), so make it readable or register the table again.")
    }
}

private final class ManifestFile(manifest: String, bytes: Array[Byte]) {
  import ManifestFile._

  private val json: JsonNode =
    try mapper.readTree(bytes)
    catch { case _: IOException => damaged("it is no JSON") }

  def files: PlacedFiles = {
    checkFormat()
    val name = text(json, "name", "it")
    val files = json.path("files")
    if (!files.isArray) damaged("it has no list of files")
    val placed = files.elements.asScala.zipWithIndex.map { case (file, i) => placedFile(file, s"file $i") }.toSeq
    val paths = placed.map(_._1)
    for (twice <- paths.diff(paths.distinct).headOption) damaged(s"it lists $twice twice")
    PlacedFiles(name, placed, rowsPerByte)
  }

  private def rowsPerByte: Option[Double] =
    if (json.path("provider").asText != "iceberg") None
    else {
      def sum(field: String): Double = json.path("files").elements.asScala.map(_.path(field).asDouble).sum
      Some(sum("rows") / sum("size")).filter(_ > 0)
    }

  private lazy val format = number(json, "format", "it", least = 1)

  private def checkFormat(): Unit = format match {
    case 1 => if (json.has("checksum")) damaged("format 1 has no checksum")
    case Sealed | Anywhere | WithALog | WithAKey | WithDeletedRows | Newest => checkBytes()
    case later =>
      LineageErrors.refuse(
        s"The manifest $manifest has format $later and this release reads up to $Newest, " +
          "so use the release that wrote it or register the table again.")
  }

  private def checkBytes(): Unit = SealedBytes.fault(bytes).foreach(damaged(_))

  private def placedFile(file: JsonNode, what: String): (String, PlacedFile) = {
    val plain = text(file, "path", what)
    val named = plain match {
      case _ if plain.contains('\u0000') => damaged(s"the path of $what is $plain")
      case _ if plain.startsWith("/") => "file:" + plain
      case Elsewhere() if format >= Anywhere => plain
      case _ => damaged(s"the path of $what is $plain")
    }
    val path =
      try SparkPath.fromPathString(named).urlEncoded
      catch { case _: IllegalArgumentException => damaged(s"the path of $what is $plain") }
    val size = number(file, "size", what)
    val modified = number(file, "modified", what, least = Long.MinValue) // a file may be older than 1970
    path -> PlacedFile(size, modified / 1000000L, number(file, "offset", what))
  }

  private def text(node: JsonNode, field: String, what: String): String = {
    val value = node.path(field)
    if (!value.isTextual || value.textValue.isEmpty) damaged(s"$what has no $field")
    value.textValue
  }

  private def number(node: JsonNode, field: String, what: String, least: Long = 0): Long = {
    val value = node.path(field)
    if (value.isMissingNode) damaged(s"$what has no $field")
    if (!value.isIntegralNumber || !value.canConvertToLong || value.longValue < least)
      damaged(s"the $field of $what is $value")
    value.longValue
  }

  private def damaged(what: String): Nothing =
    LineageErrors.refuse(s"The manifest $manifest is damaged ($what), so delete it and register the table again.")
}
