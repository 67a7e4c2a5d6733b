package forwardlineage.tests

import java.io.{File, IOException}
import java.net.URI
import java.nio.file.{Files, StandardCopyOption}
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.zip.CRC32

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs._
import org.apache.hadoop.fs.permission.FsPermission

/**
 * The local files under the scheme `counted:`, as a store that is far away: each request is noted, takes its time, and may fail; listings
 * come in pages, each of which shows what is there at that moment.
 */
class CountedFileSystem extends RawLocalFileSystem {
  import Requests.asked

  override def getScheme: String = "counted"
  override def getUri: URI = URI.create(s"$getScheme:///")

  override def getFileStatus(path: Path): FileStatus = asked(s"status ${at(path)}")(tagged(super.getFileStatus(path)))

  override def open(path: Path, buffer: Int): FSDataInputStream = asked(s"open ${at(path)}")(super.open(path, buffer))

  override def getFileChecksum(path: Path, length: Long): FileChecksum = asked(s"checksum ${at(path)}")(null)

  override def listStatus(path: Path): Array[FileStatus] = {
    val found = pages(path)
    Iterator.continually(found).takeWhile(_.hasNext).map(_.next()).toArray
  }

  override def listStatusIterator(path: Path): RemoteIterator[FileStatus] = pages(path)

  private def pages(path: Path): RemoteIterator[FileStatus] = new Pages(after => asked(s"list ${at(path)}") {
    Option(new File(at(path)).list()) match {
      case None => Array(path.getName -> tagged(super.getFileStatus(path))) // a file, or nothing
      case Some(names) =>
        names.filterNot(Requests.hidden).sorted.dropWhile(_ <= after).take(Requests.pageSize + 1)
          .map(name => name -> tagged(super.getFileStatus(new Path(path, new Path(null, null, name)))))
    }
  })

  protected def at(path: Path): String = path.toUri.getPath

  protected def tagged(status: FileStatus): FileStatus =
    if (!Requests.tags || status.isDirectory) status
    else new TaggedStatus(status, {
      val crc = new CRC32
      crc.update(Files.readAllBytes(new File(at(status.getPath)).toPath))
      crc.getValue.toHexString
    })
}

/** The same as `flat:`, a store that knows no folders and lists a tree a page after the other. */
class FlatFileSystem extends CountedFileSystem {
  override def getScheme: String = "flat"

  override def listFiles(root: Path, recursive: Boolean): RemoteIterator[LocatedFileStatus] = new Pages(after => Requests.asked(s"list ${at(root)}") {
    val files = below(new File(at(root))).map(file => file.getPath -> file).sortBy(_._1)
    files.dropWhile(_._1 <= after).take(Requests.pageSize + 1).map { case (name, file) =>
      val path = makeQualified(new Path(file.getPath))
      name -> new LocatedFileStatus(new FileStatus(file.length, false, 1, 1 << 20, getFileStatus(path).getModificationTime, path), null)
    }.toArray
  })

  private def below(folder: File): Seq[File] = folder.listFiles.toSeq.flatMap(file => if (file.isDirectory) below(file) else Seq(file))
}

/** Pages of named entries, each of which says by one entry more whether there is another one; that is asked for when it is needed. */
private final class Pages[A](page: String => Array[(String, A)]) extends RemoteIterator[A] {
  private val size = Requests.pageSize
  private var entries = page("")
  private var place = 0

  override def hasNext: Boolean = {
    if (place == size && entries.length > size) { entries = page(entries(size - 1)._1); place = 0 }
    place < math.min(size, entries.length)
  }

  override def next(): A = { hasNext; place += 1; entries(place - 1)._2 }
}

final class TaggedStatus(of: FileStatus, tag: String)
    extends FileStatus(of.getLen, false, 1, of.getBlockSize, of.getModificationTime, 0, FsPermission.getFileDefault, "", "", of.getPath)
    with EtagSource {
  override def getEtag: String = tag
}

/** What was asked of the file systems above, and what happens then. */
object Requests {
  val made = new ConcurrentLinkedQueue[String]
  @volatile var pageSize = 1000
  @volatile var latency = 0L // milliseconds
  @volatile var tags = false
  @volatile var hiding = "" // names that listings leave out
  @volatile private var planned: List[(String, Int, () => Unit)] = Nil
  private val within = ThreadLocal.withInitial[java.lang.Boolean](() => false)

  def hidden(name: String): Boolean = hiding.nonEmpty && name.matches(hiding)

  /** What a request does by way of another one is not another one. */
  def asked[A](what: String)(give: => A): A =
    if (within.get) give
    else {
      made.add(what)
      if (latency > 0) Thread.sleep(latency)
      due(what).foreach(_())
      within.set(true)
      try give finally within.set(false)
    }

  def plan(request: String, after: Int, act: () => Unit): Unit = synchronized { planned = planned :+ ((request, after, act)) }

  def reset(): Unit = synchronized { made.clear(); planned = Nil; pageSize = 1000; latency = 0; tags = false; hiding = "" }

  private def due(what: String): Option[() => Unit] = synchronized {
    planned.indexWhere { case (request, _, _) => what.matches(request) } match {
      case -1 => None
      case i =>
        val (request, after, act) = planned(i)
        planned = if (after > 0) planned.updated(i, (request, after - 1, act)) else planned.patch(i, Nil, 1)
        if (after == 0) Some(act) else None
    }
  }
}

/** What tests say, in Python. */
final class RequestsControl {
  def reset(): Unit = Requests.reset()
  def made(): String = Requests.made.asScala.mkString("\n")
  def forget(): Unit = Requests.made.clear()
  def pages(of: Int): Unit = Requests.pageSize = of
  def latency(milliseconds: Int): Unit = Requests.latency = milliseconds
  def tags(there: Boolean): Unit = Requests.tags = there
  def hide(names: String): Unit = Requests.hiding = names

  /** The request after so many of its like fails. */
  def fail(request: String, after: Int, why: String): Unit = Requests.plan(request, after, () => throw new IOException(why))

  /** Before that request is answered a file is moved. */
  def move(request: String, after: Int, from: String, to: String): Unit = Requests.plan(request, after, () => {
    Files.move(new File(from).toPath, new File(to).toPath, StandardCopyOption.REPLACE_EXISTING)
    ()
  })
}
