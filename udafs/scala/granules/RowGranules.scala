package org.apache.spark.sql.forwardlineage

import java.io.IOException
import java.nio.{ByteBuffer, ByteOrder}
import java.nio.file.{Files, InvalidPathException, Paths}
import java.util.{LinkedHashMap, Map => JavaMap}
import java.util.function.{Function => JFunction}
import java.util.zip.CRC32

import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.types._

import Sessions.SparkSession

/** The granule of each row of a table by the row's id, -1 where no row has it; sent to each executor once. */
final class RowGranules(val file: String, val checksum: Int, val ids: Broadcast[Array[Int]]) extends Serializable {
  override def equals(other: Any): Boolean = other match {
    case that: RowGranules => file == that.file && checksum == that.checksum
    case _ => false
  }
  override def hashCode: Int = 31 * file.hashCode + checksum
}

/**
 * The file that `forward_lineage.tracing.granule_cache` writes: "FLGRN", a byte 1, the CRC-32 of what follows (4 bytes), and 4 bytes for each
 * id from 0 on; low bytes first. It is read by the driver alone, once while the Spark context is the same.
 */
object RowGranules {
  private val Magic = "FLGRN\u0001".getBytes("US-ASCII")
  private val Header = Magic.length + 4
  private val MostFiles = 8

  private val sent = new LinkedHashMap[(String, String, Long, Long), RowGranules](16, 0.75f, true) {
    override def removeEldestEntry(eldest: JavaMap.Entry[(String, String, Long, Long), RowGranules]): Boolean = size > MostFiles
  }

  def of(literal: Expression): RowGranules = synchronized {
    if (!literal.foldable || literal.dataType != StringType) LineageErrors.refuse("dl_row_granule needs the path of a file as a string literal.")
    val file = literal.eval().toString
    val context = SparkSession.active.sparkContext
    try {
      val path = Paths.get(file)
      val key = (context.applicationId, file, Files.size(path), Files.getLastModifiedTime(path).toMillis)
      Option(sent.get(key)).getOrElse {
        val (checksum, ids) = read(file, Files.readAllBytes(path))
        val made = new RowGranules(file, checksum, context.broadcast(ids))
        sent.put(key, made)
        made
      }
    } catch {
      case e @ (_: IOException | _: InvalidPathException) =>
        LineageErrors.refuse(s"The granules in $file cannot be read ($e), so trace the query in a new session, which makes them anew.")
    }
  }

  private def read(file: String, bytes: Array[Byte]): (Int, Array[Int]) = {
    val sum = new CRC32
    if (bytes.length >= Header) sum.update(bytes, Header, bytes.length - Header)
    val buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)
    if (bytes.length < Header || !bytes.startsWith(Magic) || (bytes.length - Header) % 4 != 0 || buffer.getInt(Magic.length) != sum.getValue.toInt)
      LineageErrors.refuse(s"The granules in $file are damaged, so delete that file and trace the query in a new session.")
    val ids = new Array[Int]((bytes.length - Header) / 4)
    buffer.position(Header)
    buffer.asIntBuffer.get(ids)
    (sum.getValue.toInt, ids)
  }
}

/** dl_row_granule(row id, file): the granule of the row that has the id; another id is refused. */
case class DlRowGranule(child: Expression, granules: RowGranules) extends UnaryExpression with ExpectsInputTypes {
  override def prettyName: String = "dl_row_granule"
  override def inputTypes: Seq[AbstractDataType] = LongType :: Nil
  override def dataType: DataType = LongType
  override def nullable: Boolean = child.nullable
  override def stringArgs: Iterator[Any] = Iterator(child, granules.file)

  @transient private lazy val op = new RowGranuleOp(granules)

  override protected def nullSafeEval(id: Any): Any = op.at(id.asInstanceOf[Long])

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val function = ctx.addReferenceObj("granules", op, classOf[JFunction[_, _]].getName)
    val ids = ctx.addMutableState("int[]", "granuleOfRow", name => s"$name = (int[]) $function.apply(null);")
    nullSafeCodeGen(ctx, ev, id => s"""
      |${ev.value} = $id >= 0 && $id < $ids.length ? $ids[(int) $id] : -1;
      |if (${ev.value} < 0) $function.apply(Long.valueOf($id));
    """.stripMargin)
  }

  override protected def withNewChildInternal(newChild: Expression): DlRowGranule = copy(child = newChild)
}

/** null → the whole list, for generated code; an id that has no granule → an error. */
final class RowGranuleOp(granules: RowGranules) extends Op[Any, AnyRef] {
  @transient private lazy val ids = granules.ids.value

  override def apply(id: Any): AnyRef = if (id == null) ids else Long.box(at(id.asInstanceOf[Long]))

  def at(id: Long): Long = {
    val granule = if (id >= 0 && id < ids.length) ids(id.toInt) else -1
    if (granule < 0)
      LineageErrors.refuse(s"LINEAGE ON: there was no row $id when the values of its table were looked up. If the table has changed, register it again.")
    granule
  }
}
