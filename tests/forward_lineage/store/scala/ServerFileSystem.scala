package forwardlineage.tests

import java.io.{EOFException, FileNotFoundException, IOException}
import java.net.{HttpURLConnection, URI, URLEncoder}
import java.time.{Instant, ZonedDateTime}
import java.time.format.DateTimeFormatter.RFC_1123_DATE_TIME

import scala.xml.XML

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs._
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.util.Progressable

/**
 * What a server that speaks S3 has, under the scheme `s3a:`, for reading: in place of Hadoop's S3A, which PySpark does not bring. Nothing
 * is signed; `fs.s3a.endpoint` says where the server is.
 */
class ServerFileSystem extends FileSystem {
  private var bucket = ""
  private var directory = new Path("/")

  override def getScheme: String = "s3a"
  override def getUri: URI = URI.create(s"s3a://$bucket")

  override def initialize(name: URI, conf: Configuration): Unit = {
    super.initialize(name, conf)
    bucket = name.getHost
  }

  override def open(path: Path, buffer: Int): FSDataInputStream = new FSDataInputStream(new Ranges(path, getFileStatus(path).getLen))

  override def getFileStatus(path: Path): FileStatus = {
    val asked = ask("HEAD", key(path))
    asked.getResponseCode match {
      case 200 =>
        val written = ZonedDateTime.parse(asked.getHeaderField("Last-Modified"), RFC_1123_DATE_TIME).toInstant
        file(path, asked.getContentLengthLong, written)
      case 404 if below(path).nonEmpty => folder(path)
      case 404 => throw new FileNotFoundException(path.toString)
      case other => throw new IOException(s"$path: $other")
    }
  }

  override def listStatus(path: Path): Array[FileStatus] = {
    val found = below(path)
    if (found.isEmpty) Array(getFileStatus(path)) else found
  }

  private def below(path: Path): Array[FileStatus] = {
    val prefix = key(path).stripSuffix("/") + "/"
    val asked = ask("GET", "", s"?list-type=2&delimiter=%2F&prefix=${URLEncoder.encode(prefix, "UTF-8")}")
    val listed = XML.load(asked.getInputStream)
    require((listed \ "IsTruncated").text != "true", "more than a listing gives at once")
    val files = (listed \ "Contents").map { each =>
      file(new Path(getUri.toString + "/" + (each \ "Key").text), (each \ "Size").text.toLong, Instant.parse((each \ "LastModified").text))
    }
    val folders = (listed \ "CommonPrefixes").map(each => folder(new Path(getUri.toString + "/" + (each \ "Prefix").text.stripSuffix("/"))))
    (files ++ folders).toArray
  }

  private def file(path: Path, size: Long, written: Instant): FileStatus =
    new FileStatus(size, false, 1, 32L << 20, written.toEpochMilli / 1000 * 1000, makeQualified(path))

  private def folder(path: Path): FileStatus = new FileStatus(0, true, 1, 0, 0, makeQualified(path))

  private def key(path: Path): String = makeQualified(path).toUri.getPath.stripPrefix("/")

  private def ask(method: String, key: String, more: String = "", range: Option[String] = None): HttpURLConnection = {
    val plain = new URI(null, null, s"/$bucket" + (if (key.isEmpty) "" else s"/$key"), null).getRawPath
    val asked = URI.create(getConf.get("fs.s3a.endpoint") + plain + more).toURL.openConnection().asInstanceOf[HttpURLConnection]
    asked.setRequestMethod(method)
    asked.setRequestProperty("Authorization", "of anybody") // the tests' server asks for one, and reads none
    range.foreach(asked.setRequestProperty("Range", _))
    asked
  }

  private final class Ranges(path: Path, size: Long) extends FSInputStream {
    private var at = 0L

    override def seek(to: Long): Unit = if (to > size) throw new EOFException(path.toString) else at = to
    override def getPos: Long = at
    override def seekToNewSource(to: Long): Boolean = false

    override def read(): Int = {
      val one = new Array[Byte](1)
      if (read(one, 0, 1) < 0) -1 else one(0) & 0xff
    }

    override def read(into: Array[Byte], first: Int, count: Int): Int =
      if (count == 0) 0
      else if (at >= size) -1
      else {
        val last = math.min(at + count, size) - 1
        val data = ask("GET", key(path), range = Some(s"bytes=$at-$last")).getInputStream.readAllBytes()
        System.arraycopy(data, 0, into, first, data.length)
        at += data.length
        data.length
      }
  }

  override def getWorkingDirectory: Path = directory
  override def setWorkingDirectory(path: Path): Unit = directory = path
  override def mkdirs(path: Path, permission: FsPermission): Boolean = readOnly
  override def rename(path: Path, other: Path): Boolean = readOnly
  override def delete(path: Path, recursive: Boolean): Boolean = readOnly
  override def append(path: Path, buffer: Int, progress: Progressable): FSDataOutputStream = readOnly
  override def create(path: Path, permission: FsPermission, overwrite: Boolean, buffer: Int, replication: Short, block: Long,
      progress: Progressable): FSDataOutputStream = readOnly

  private def readOnly: Nothing = throw new IOException("nothing is written here")
}
