package org.apache.spark.sql.forwardlineage

import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest
import java.util.{Collections, LinkedHashMap, Map => JavaMap}

import scala.util.control.NonFatal

import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.catalyst.expressions.{Expression, ExpressionInfo}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.{DataSource, HadoopFsRelation, InMemoryFileIndex, LogicalRelation}
import org.apache.spark.sql.types.{StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String

import Sessions.SparkSession

/**
 * `dl_parquet('path')`: the rows that parquet.`path` has, patterns and hidden columns included.
 *
 * Wherever parquet.`path` stands, Spark lists the path and reads a footer, in a job. Here it is listed, and the columns that were found are
 * taken again while the files are the same by path, size and time, and the session's settings are. The rest is Spark's own.
 */
private object NamedFiles {
  private final case class Place(path: String, settings: Map[String, String])
  private final case class Found(files: Seq[Byte], columns: StructType, partitions: StructType)

  val info: ExpressionInfo = new ExpressionInfo(
    getClass.getName, null, "dl_parquet",
    "_FUNC_(path) - Returns the rows of the Parquet files under `path`, a constant, as parquet.`path` does.", "",
    """
    Examples:
      > SELECT count(*) FROM _FUNC_('/data/sales');
       3
  """, "", "table_funcs", "", "", "scala_udf")

  private val MostPlaces = 1000
  private val found: JavaMap[Place, Found] = Collections.synchronizedMap(new LinkedHashMap[Place, Found](16, 0.75f, true) {
    override def removeEldestEntry(eldest: JavaMap.Entry[Place, Found]): Boolean = size > MostPlaces
  })

  def apply(arguments: Seq[Expression]): LogicalPlan = {
    val session = SparkSession.active
    if (!session.sessionState.conf.runSQLonFile) LineageErrors.refuse("dl_parquet reads files, which spark.sql.runSQLOnFiles forbids.")
    val path = text(arguments)
    try LogicalRelation(relation(session, Place(path, session.sessionState.conf.getAllConfs)))
    catch {
      case NonFatal(error) if !error.isInstanceOf[AnalysisException] =>
        LineageErrors.refuse(s"dl_parquet('$path') cannot be read: ${error.getMessage}")
    }
  }

  /** Remember the columns of files that were just written with them in their footers, as Spark writes its own. */
  def know(session: SparkSession, path: String, columns: StructType): Unit = {
    val place = Place(path, session.sessionState.conf.getAllConfs)
    remember(place, resolved(session, place, Some(columns)))
  }

  private def text(arguments: Seq[Expression]): String = arguments match {
    case Seq(path) if path.foldable && path.dataType == StringType && path.eval() != null => path.eval().asInstanceOf[UTF8String].toString
    case _ => LineageErrors.refuse("dl_parquet takes one argument, the path of Parquet files as a string.")
  }

  private def relation(session: SparkSession, place: Place): HadoopFsRelation =
    Option(found.get(place)).flatMap(again(session, place, _)).getOrElse {
      val read = resolved(session, place, None)
      // Of a column that is in the files and in their folders' names Spark decides the place when it looks for columns itself.
      if (read.overlappedPartCols.isEmpty) remember(place, read)
      read
    }

  private def remember(place: Place, read: HadoopFsRelation): Unit =
    digest(read).foreach(files => found.put(place, Found(files, read.dataSchema, read.partitionSchema)))

  private def again(session: SparkSession, place: Place, known: Found): Option[HadoopFsRelation] =
    Some(resolved(session, place, Some(known.columns)))
      .filter(now => now.partitionSchema == known.partitions && digest(now).contains(known.files))

  private def resolved(session: SparkSession, place: Place, columns: Option[StructType]): HadoopFsRelation =
    DataSource(session, className = "parquet", paths = Seq(place.path), userSpecifiedSchema = columns)
      .resolveRelation() match { case files: HadoopFsRelation => files }

  /** Of the files' paths, sizes and times; None where Spark does not list them. */
  private def digest(relation: HadoopFsRelation): Option[Seq[Byte]] = relation.location match {
    case index: InMemoryFileIndex =>
      val sum = MessageDigest.getInstance("SHA-256")
      index.allFiles().map(file => s"${file.getPath}\u0000${file.getLen}\u0000${file.getModificationTime}\u0000").sorted
        .foreach(file => sum.update(file.getBytes(UTF_8)))
      Some(sum.digest.toSeq)
    case _ => None
  }
}
