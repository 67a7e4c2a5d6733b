package org.apache.spark.sql.forwardlineage

import java.io.FileNotFoundException

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer
import scala.util.Try

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, FileSystem, Path, RemoteIterator}

/**
 * The files of a table on any file system that Hadoop knows, listed in bulk: no request a file.
 *
 * A store that lists a whole tree itself is asked to (S3A: a page for each thousand files, whatever folders they are in); others
 * folder by folder, several at once, and only folders that Spark reads. Listings come in pages, a thousand files each on HDFS.
 */
final class Listing(conf: Configuration) {

  /**
   * The files that Spark reads under a path: not those whose names begin with a dot or `_`, and of folders only partitions.
   *
   * @throws FileNotFoundException if it is not there
   */
  def under(place: String): Seq[ListedFile] = {
    val fs = new Path(place).getFileSystem(conf)
    val root = fs.getFileStatus(new Path(place))
    (if (root.isFile) Seq(root) else below(fs, Seq(root.getPath))).map(ListedFile.of)
  }

  /**
   * All files in a folder, whatever they are called, and none of those below.
   *
   * @throws FileNotFoundException if it is not there
   */
  def inside(folder: String): Seq[ListedFile] = {
    val path = new Path(folder)
    all(path.getFileSystem(conf).listStatusIterator(path)).filter(_.isFile).map(ListedFile.of)
  }

  /** The paths that a pattern in Hadoop's syntax names. */
  def matching(pattern: String): Seq[String] = statuses(pattern)._2.map(_.getPath.toString)

  /**
   * The files that Spark reads under the paths that a pattern names.
   *
   * @throws FileNotFoundException if it names none
   */
  def matched(pattern: String): Seq[ListedFile] = {
    val (fs, found) = statuses(pattern)
    if (found.isEmpty) throw new FileNotFoundException(pattern)
    val (folders, files) = found.partition(_.isDirectory)
    (files.filter(file => Listing.isData(file.getPath.getName)) ++ below(fs, folders.map(_.getPath))).map(ListedFile.of)
  }

  private def statuses(pattern: String): (FileSystem, Seq[FileStatus]) = {
    val path = new Path(pattern)
    val fs = path.getFileSystem(conf)
    (fs, Option(fs.globStatus(path.makeQualified(fs.getUri, fs.getWorkingDirectory))).fold(Seq.empty[FileStatus])(_.toSeq))
  }

  /** Whether there is something of just this name. */
  def isThere(place: String): Boolean = {
    val path = new Path(place)
    path.getFileSystem(conf).exists(path)
  }

  /** The path with scheme and authority, as the file system writes it. */
  def qualified(place: String): String = {
    val path = new Path(place)
    val fs = path.getFileSystem(conf)
    path.makeQualified(fs.getUri, fs.getWorkingDirectory).toString
  }

  /**
   * Some files, by listing what holds them; those that are not there are left out.
   *
   * @param roots folders that hold most of them
   */
  def some(roots: Seq[String], wanted: Seq[String]): Seq[ListedFile] = {
    val names = wanted.toSet
    val holders = roots.filterNot(names)
    val seen = mutable.Set[String]()
    val found = holders.flatMap(root => orNone(under(root))).filter(file => names(file.path) && seen.add(file.path))
    val left = wanted.filterNot(found.map(_.path).toSet).distinct.groupBy(path => new Path(path).getParent)
    found ++ AtOnce.map(left.toSeq) { case (folder, files) => besides(folder, files) }.flatten
  }

  private def besides(folder: Path, files: Seq[String]): Seq[ListedFile] = {
    val fs = folder.getFileSystem(conf)
    if (files.lengthCompare(Listing.Few) <= 0) files.flatMap(file => orNone(Seq(ListedFile.of(fs.getFileStatus(new Path(file))))))
    else {
      val names = files.toSet
      orNone(all(fs.listStatusIterator(folder)).filter(_.isFile).map(ListedFile.of)).filter(file => names(file.path))
    }
  }

  private def orNone(files: => Seq[ListedFile]): Seq[ListedFile] =
    try files
    catch { case _: FileNotFoundException => Nil }

  private def below(fs: FileSystem, roots: Seq[Path]): Seq[FileStatus] =
    try if (Listing.isFlat(fs)) AtOnce.map(roots)(tree(fs, _)).flatten else walk(fs, roots)
    catch { case _: FileNotFoundException => throw new ChangedMeanwhileException(roots.head.toString) }

  private def tree(fs: FileSystem, root: Path): Seq[FileStatus] = {
    val start = root.toString.stripSuffix("/").length + 1
    all(fs.listFiles(root, true)).filter { file =>
      val parts = file.getPath.toString.substring(start).split('/')
      parts.init.forall(Listing.isPartition) && Listing.isData(parts.last)
    }
  }

  private def walk(fs: FileSystem, folders: Seq[Path]): Seq[FileStatus] =
    if (folders.isEmpty) Nil
    else {
      val entries = AtOnce.map(folders)(folder => all(fs.listStatusIterator(folder))).flatten
      val (deeper, files) = entries.partition(_.isDirectory)
      val data = files.filter(file => file.isFile && Listing.isData(file.getPath.getName))
      data ++ walk(fs, deeper.map(_.getPath).filter(folder => Listing.isPartition(folder.getName)))
    }

  private def all[A <: FileStatus](pages: RemoteIterator[A]): Seq[FileStatus] = {
    val found = new ArrayBuffer[FileStatus]
    while (pages.hasNext) found += pages.next()
    found.toSeq
  }
}

object Listing {
  private val Few = 4 // files of a folder that are asked for one by one: it may have a million others

  /** Others are passed over by Spark. */
  def isPartition(folder: String): Boolean = folder.contains("=") && !folder.startsWith(".")

  def isData(file: String): Boolean = !file.startsWith("_") && !file.startsWith(".") && !file.endsWith("._COPYING_")

  /** Whether the file system has a way of its own to list a tree, as object stores do that know no folders. */
  private def isFlat(fs: FileSystem): Boolean =
    Try(fs.getClass.getMethod("listFiles", classOf[Path], java.lang.Boolean.TYPE).getDeclaringClass != classOf[FileSystem])
      .getOrElse(false)
}
