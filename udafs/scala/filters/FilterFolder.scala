package org.apache.spark.sql.forwardlineage

import java.io.IOException
import java.nio.{ByteBuffer, ByteOrder}
import java.nio.file.{Files, InvalidPathException, LinkOption, Paths}
import java.nio.file.attribute.BasicFileAttributes
import java.util.{HashMap, LinkedHashMap, Map => JavaMap}
import java.util.zip.CRC32

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.paths.SparkPath
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.types.StringType

import Sessions.SparkSession

/** A Parquet file that a filter knows: its number among them, and what it was when the filter was made. */
final case class FilteredFile(number: Int, size: Long, modifiedMillis: Long)

/** What a filter answers with. */
final class Filters(val tuples: TupleFilter, val ofFiles: Option[FileFilter], val files: Map[String, FilteredFile])

/**
 * A filter on disk, by the folder that `lineage.membership(…).path` names. Two of equal content are equal.
 *
 * @param files its files by name. Tasks make the filter of these: classes of an added jar are others to them than to the driver
 */
final class FilterFolder(val folder: String, val checksum: Long, val columns: Seq[FilterColumn], files: Broadcast[JavaMap[String, Array[Byte]]])
    extends Serializable {
  def filters: Filters = new FilterFiles(folder, files.value).filters

  override def equals(other: Any): Boolean = other match {
    case that: FilterFolder => folder == that.folder && checksum == that.checksum
    case _ => false
  }
  override def hashCode: Int = 31 * folder.hashCode + checksum.hashCode
}

/** Reads what `forward_lineage.approximate.filters.storing` writes; by the driver alone, once while the Spark context is the same. */
object FilterFolder {
  private val Most = 8
  private val sent = new LinkedHashMap[(String, String, Long), FilterFolder](16, 0.75f, true) {
    override def removeEldestEntry(eldest: JavaMap.Entry[(String, String, Long), FilterFolder]): Boolean = size > Most
  }

  def of(literal: Expression, function: String): FilterFolder = synchronized {
    if (!literal.foldable || literal.dataType != StringType || literal.eval() == null)
      LineageErrors.refuse(s"$function needs the path of a filter as a string literal, as lineage.membership(…).path says it.")
    val folder = literal.eval().toString
    val context = SparkSession.active.sparkContext
    try {
      val files: JavaMap[String, Array[Byte]] = new HashMap
      files.put(FilterFiles.Manifest, read(folder, FilterFiles.Manifest))
      val found = new FilterFiles(folder, files)
      Option(sent.get((context.applicationId, folder, found.checksum))).getOrElse {
        found.names.foreach(name => files.put(name, read(folder, name)))
        found.check()
        val made = new FilterFolder(folder, found.checksum, found.columns, context.broadcast(files))
        sent.put((context.applicationId, folder, found.checksum), made)
        made
      }
    } catch {
      case e @ (_: IOException | _: InvalidPathException) =>
        LineageErrors.refuse(s"The filter in $folder cannot be read ($e). It may be of an older version of its table: ask lineage.membership(…).path again.")
    }
  }

  /** A pipe would never end, and a device is no file of ours: what is opened must be a file, and not a link in its place. */
  private def read(folder: String, name: String): Array[Byte] = {
    val path = Paths.get(folder).resolve(name)
    if (!Files.readAttributes(path, classOf[BasicFileAttributes], LinkOption.NOFOLLOW_LINKS).isRegularFile) throw new IOException(s"$path is no file")
    Files.readAllBytes(path)
  }
}

private object FilterFiles {
  val Manifest = "filters.json"
  private val Format = 2
}

private final class FilterFiles(folder: String, files: JavaMap[String, Array[Byte]]) {
  import FilterFiles._

  private val bytes = files.get(Manifest)
  for (fault <- SealedBytes.fault(bytes)) damaged(s"$Manifest: $fault")

  val checksum: Long = sum(bytes)

  private val json = new ObjectMapper().readTree(bytes)
  if (json.path("format").asInt != Format) damaged(s"its format is ${json.path("format")}, and this release reads $Format")
  private val described = json.path("described")
  private val arrays = json.path("arrays").elements.asScala.map(array => array.path("name").asText -> array).toMap

  def names: Iterable[String] = arrays.keys

  val columns: Seq[FilterColumn] = described.path("of").elements.asScala.toSeq
    .map(column => FilterColumn(text(column, "name"), text(column, "values"), number(column, "width").toInt))

  /** Refuses what is not as it was written. */
  def check(): Unit = {
    for ((name, array) <- arrays) if (sum(files.get(name)) != number(array, "checksum")) damaged(s"$name is damaged or cut short")
    filters
  }

  def filters: Filters = {
    val ofFiles = described.path("of_files")
    val known = described.path("files").elements.asScala.zipWithIndex.map { case (file, place) =>
      val path = text(file, "path")
      val named = SparkPath.fromPathString(if (path.startsWith("/")) "file:" + path else path).urlEncoded
      named -> FilteredFile(place, number(file, "size"), number(file, "modified") / 1000000L)
    }
    new Filters(tuples, if (ofFiles.isMissingNode) None else Some(new FileFilter(fuse("files", ofFiles.path("pairs")))), known.toMap)
  }

  private def tuples: TupleFilter = text(described, "kind") match {
    case "bitmap" => new BitmapFilter(bytesOf("marked"), columns.indices.map(place => longs(s"values$place")).toArray)
    case "fuse" => new FuseOfTuples(fuse("keys", described.path("keys")))
    case "learned" =>
      val model = new Classifier(numbers("starts"), numbers("buckets"), bytesOf("vectors"), ints("bias"), bytesOf("weights"))
      new LearnedFilter(fuse("before", described.path("before")), model, number(described, "threshold"), fuse("behind", described.path("behind")))
    case other => damaged(s"this release knows no filter of the kind $other")
  }

  private def fuse(name: String, of: JsonNode): FuseFilter =
    new FuseFilter(bytesOf(s"${name}_cells"), number(of, "width").toInt, number(of, "segment"), number(of, "segments"), number(of, "seed"), number(of, "size"))

  private def bytesOf(name: String): Array[Byte] = array(name, "|u1", "|i1").array

  private def longs(name: String): Array[Long] = {
    val found = array(name, "<u8").asLongBuffer
    Array.fill(found.remaining)(found.get)
  }

  private def ints(name: String): Array[Int] = {
    val found = array(name, "<i4").asIntBuffer
    Array.fill(found.remaining)(found.get)
  }

  private def array(name: String, kinds: String*): ByteBuffer = {
    val of = arrays.getOrElse(name, damaged(s"it has no array $name"))
    if (!kinds.contains(text(of, "kind"))) damaged(s"its array $name is of the kind ${text(of, "kind")}")
    ByteBuffer.wrap(files.get(name)).order(ByteOrder.LITTLE_ENDIAN)
  }

  private def sum(of: Array[Byte]): Long = {
    val found = new CRC32
    found.update(of)
    found.getValue
  }

  private def text(node: JsonNode, field: String): String =
    if (node.path(field).isTextual) node.path(field).textValue else damaged(s"it does not say $field")

  private def number(node: JsonNode, field: String): Long =
    if (node.path(field).canConvertToLong) node.path(field).longValue else damaged(s"it does not say $field")

  private def numbers(field: String): Array[Int] = described.path(field).elements.asScala.map(_.asInt).toArray

  private def damaged(what: String): Nothing =
    LineageErrors.refuse(s"The filter in $folder is damaged ($what). Ask lineage.membership again: it is made anew.")
}
