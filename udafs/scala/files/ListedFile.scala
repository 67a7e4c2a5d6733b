package org.apache.spark.sql.forwardlineage

import org.apache.hadoop.fs.{EtagSource, FileStatus}

/**
 * A file as a listing shows it.
 *
 * @param path as `Path` writes it: its scheme, nothing encoded
 * @param modified milliseconds since 1970
 * @param tag what tells its contents from others, where listings of its store have that (S3A, ABFS); else empty
 */
final case class ListedFile(path: String, size: Long, modified: Long, tag: String) {
  def fields: Seq[String] = Seq(path, size.toString, modified.toString, tag)
}

object ListedFile {
  def of(status: FileStatus): ListedFile =
    ListedFile(status.getPath.toString, status.getLen, status.getModificationTime, tag(status))

  private def tag(status: FileStatus): String = status match {
    case tagged: EtagSource => Option(tagged.getEtag).getOrElse("")
    case _ => ""
  }
}
