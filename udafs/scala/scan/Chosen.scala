package org.apache.spark.sql.forwardlineage

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.metadata.BlockMetaData
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.datasources.{FileIndex, FileStatusWithMetadata, InMemoryFileIndex, PartitionDirectory}
import org.apache.spark.sql.types.StructType

/** What need not be read of a Parquet scan. Whatever is read is tested by a predicate, which stays. */
trait Chosen extends Serializable {

  /** Whether a file may hold chosen rows. */
  def isIn(file: FileStatus, conf: Configuration): Boolean

  /**
   * Where chosen rows of a row group may be, as runs (first, last) that ascend, counted from its first row; None: anywhere.
   *
   * @param path as `Chosen.name` calls it
   */
  def rows(reader: ParquetFileReader, path: String, block: BlockMetaData): Option[Iterator[(Long, Long)]]

  /** Whether `bytes` says more than how long a file is. */
  def knowsBytes: Boolean = false

  /** How many bytes of a file have to be read at most. */
  def bytes(file: FileStatus, conf: Configuration): Long = file.getLen
}

object Chosen {

  /** A file as `_metadata.file_path` calls it. */
  def name(path: Path): String = new Path(path.toString).toUri.toString
}

/** The files of a table that may hold chosen rows. */
final class ChosenFiles(private val all: FileIndex, private val chosen: Seq[Chosen], conf: Configuration) extends FileIndex {
  override def rootPaths: Seq[Path] = all.rootPaths
  override def inputFiles: Array[String] = all.inputFiles
  override def refresh(): Unit = all.refresh()
  override def partitionSchema: StructType = all.partitionSchema
  override def metadataOpsTimeNs: Option[Long] = all.metadataOpsTimeNs

  /** What Spark plans joins by: not the whole table. */
  override lazy val sizeInBytes: Long = if (isAsked) bytes.values.sum else all.sizeInBytes

  override def listFiles(partitionFilters: Seq[Expression], dataFilters: Seq[Expression]): Seq[PartitionDirectory] = {
    val folders = all.listFiles(partitionFilters, dataFilters)
    val files = folders.flatMap(_.files)
    val wanted = ChosenFiles.mapped(files)(file => chosen.forall(_.isIn(file.fileStatus, conf)))
    val left = files.zip(wanted).collect { case (file, true) => file }.toSet
    folders.map(folder => folder.copy(files = folder.files.filter(left))).filter(_.files.nonEmpty)
  }

  private lazy val bytes: Map[String, Long] = if (!isAsked) Map.empty else {
    val files = all.listFiles(Nil, Nil).flatMap(_.files)
    files.map(file => Chosen.name(file.getPath)).zip(ChosenFiles.mapped(files)(bytesOf)).toMap
  }

  /** Not where Spark itself does not list a table's files before it knows which partitions are meant, nor where they are many. */
  private def isAsked: Boolean = chosen.exists(_.knowsBytes) && all.sizeInBytes > ChosenFiles.WorthAsking &&
    all.isInstanceOf[InMemoryFileIndex] && all.inputFiles.length <= ChosenFiles.Many

  private def bytesOf(file: FileStatusWithMetadata): Long = chosen.map(_.bytes(file.fileStatus, conf)).min

  /** Whether little of a file is read. */
  def isLittle(path: Path): Boolean = bytes.get(Chosen.name(path)).exists(_ <= ChosenFiles.Little)

  override def equals(other: Any): Boolean = other match {
    case that: ChosenFiles => all == that.all && chosen == that.chosen
    case _ => false
  }

  override def hashCode: Int = (all, chosen).hashCode
}

object ChosenFiles {
  private val WorthAsking = 1L << 20 // bytes: below, Spark broadcasts the table anyway
  private val Many = 1000
  private val Little = 16L << 20 // bytes, of all columns

  /** Of each file, asked at once: footers may be far away. */
  def mapped[A: scala.reflect.ClassTag](files: Seq[FileStatusWithMetadata])(ask: FileStatusWithMetadata => A): Seq[A] = {
    val found = new Array[A](files.size)
    val indexed = files.toIndexedSeq
    val places = java.util.stream.IntStream.range(0, indexed.size)
    (if (indexed.size > 1) places.parallel() else places).forEach(i => found(i) = ask(indexed(i)))
    found.toSeq
  }
}
