package org.apache.spark.sql.forwardlineage

import java.io.{FileNotFoundException, IOException}
import java.nio.file.AccessDeniedException
import java.util.Base64
import java.util.concurrent.{CompletionException, ExecutionException}

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}
import org.apache.hadoop.security.AccessControlException
import org.apache.spark.sql.execution.datasources.{FileIndex, HadoopFsRelation}
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2ScanRelation, FileTable}

import Sessions.{Dataset, SparkSession}

/**
 * What Python asks of files that lie on other file systems than the local one, as the session is configured: one call each for all
 * files of a table. Lists come and go as one text, with NUL between its fields, which no path has.
 *
 * An answer begins with what became of the question: `ok`; `missing`, `changed`, `damaged`, `denied` and `failed` are followed by a path and what is wrong.
 */
final class TableFiles {
  import TableFiles._

  /** Whether paths without a scheme are local. */
  def isLocal(session: SparkSession): Boolean = FileSystem.getDefaultUri(conf(session)).getScheme == "file"

  /** path → the path as its file system writes it, with scheme and authority. */
  def qualified(session: SparkSession, place: String): String = answer(place) { Seq(listing(session).qualified(place)) }

  /** path → `true` or `false`. */
  def isThere(session: SparkSession, place: String): String = answer(place) { Seq(listing(session).isThere(place).toString) }

  /** pattern → paths */
  def matching(session: SparkSession, pattern: String): String = answer(pattern) { listing(session).matching(pattern) }

  /** pattern → path, size, milliseconds and tag of each file under the paths that it names. */
  def matched(session: SparkSession, pattern: String): String = answer(pattern) { fields(listing(session).matched(pattern)) }

  /** path → path, size, milliseconds and tag of each file under it. */
  def under(session: SparkSession, place: String): String = answer(place) { fields(listing(session).under(place)) }

  /** paths of folders; paths of files → of each file that is there: path, size, milliseconds and tag. */
  def some(session: SparkSession, roots: String, files: String): String = answer(parts(files).headOption.getOrElse("")) {
    fields(listing(session).some(parts(roots), parts(files)))
  }

  /** path of a folder → path, size, milliseconds and tag of each file in it, and in none below. */
  def inside(session: SparkSession, folder: String): String = answer(folder) { fields(listing(session).inside(folder)) }

  /** path and size of each file → number of rows, and checksum of the footer. */
  def footers(session: SparkSession, files: String): String =
    tails(session, files) { tail => Seq(tail.rows.toString, tail.checksum) }

  /** path and size of each file → its footer and what stands behind it. */
  def wholeFooters(session: SparkSession, files: String): String = tails(session, files) { tail => Seq(written(tail.bytes)) }

  private def tails(session: SparkSession, files: String)(said: ParquetTail => Seq[String]): String = {
    val asked = parts(files).grouped(2).map { case Seq(path, size) => (new Path(path), size.toLong) }.toSeq
    answer(asked.headOption.fold("")(_._1.toString)) {
      val fs = stores(session, asked.map(_._1))
      AtOnce.map(asked) { case (path, size) => ParquetTail.read(fs(path), path, size) }.flatMap(said)
    }
  }

  /** path, offset and size of each part of a file, the size negative for all behind the offset → its bytes; `-`: there is no such file. */
  def read(session: SparkSession, files: String): String = {
    val asked = parts(files).grouped(3).map { case Seq(path, offset, size) => (new Path(path), offset.toLong, size.toInt) }.toSeq
    answer(asked.headOption.fold("")(_._1.toString)) {
      val fs = stores(session, asked.map(_._1))
      AtOnce.map(asked) { case (path, offset, size) => FileBytes.read(fs(path), path, offset, size).fold(Gone)(written) }
    }
  }

  private def written(bytes: Array[Byte]): String = Base64.getEncoder.encodeToString(bytes)

  /** The file system of each path; which there are is looked up once. */
  private def stores(session: SparkSession, paths: Seq[Path]): Path => FileSystem = {
    val conf = this.conf(session)
    val known = paths.map(path => store(path) -> path).toMap.map { case (store, path) => store -> path.getFileSystem(conf) }
    path => known(store(path))
  }

  /** The roots of the files that a plan reads. */
  def roots(frame: Dataset[_]): String = indexes(frame).flatMap(_.rootPaths).map(_.toString).distinct.mkString(Separator)

  /** What Spark itself knows of the files that a plan reads since it listed them: path, size, milliseconds and an empty tag. */
  def known(frame: Dataset[_]): String = answer("") {
    fields(indexes(frame).flatMap(_.listFiles(Nil, Nil)).flatMap(_.files).map(file => ListedFile(
      file.getPath.toString, file.getLen, file.getModificationTime, "")))
  }

  private def indexes(frame: Dataset[_]): Seq[FileIndex] = frame.queryExecution.optimizedPlan.collectWithSubqueries {
    case RelationOf(files: HadoopFsRelation, _) => files.location
    case scan: DataSourceV2ScanRelation if scan.relation.table.isInstanceOf[FileTable] =>
      scan.relation.table.asInstanceOf[FileTable].fileIndex
  }

  private def store(path: Path): (String, String) = (path.toUri.getScheme, path.toUri.getAuthority)

  private def listing(session: SparkSession) = new Listing(conf(session))

  private def conf(session: SparkSession): Configuration = session.sessionState.newHadoopConf()
}

private[sql] object TableFiles {
  private val Separator = "\u0000"
  private val Gone = "-" // of a file that is not there; no bytes are written so

  def parts(text: String): Seq[String] = if (text.isEmpty) Nil else text.split(Separator, -1).toSeq

  private def fields(files: Seq[ListedFile]): Seq[String] = files.flatMap { file =>
    if (file.path.contains(Separator)) throw new IOException("the name of a file has a NUL")
    file.fields
  }

  def answer(place: String)(give: => Seq[String]): String = {
    def failed(error: Throwable): Seq[String] = error match {
      case wrapped @ (_: ExecutionException | _: CompletionException) if wrapped.getCause != null => failed(wrapped.getCause)
      case no: NotParquetException => Seq("damaged", plain(no.path), plain(no.getMessage))
      case changed: ChangedMeanwhileException => Seq("changed", plain(changed.path), "")
      case no @ (_: AccessDeniedException | _: AccessControlException) => Seq("denied", plain(place), plain(said(no)))
      case gone: FileNotFoundException => Seq("missing", plain(place), plain(said(gone)))
      case NonFatal(error) => Seq("failed", plain(place), plain(said(error)))
      case other => throw other
    }
    (try "ok" +: give catch { case error: Exception => failed(error) }).mkString(Separator)
  }

  private def said(error: Throwable): String = {
    val message = Option(error.getMessage).filter(_.nonEmpty).getOrElse(error.getClass.getSimpleName)
    message.linesIterator.next()
  }

  private def plain(text: String): String = text.replace(Separator, "")
}
