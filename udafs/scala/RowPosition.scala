package org.apache.spark.sql.forwardlineage

import java.io.{ByteArrayOutputStream, DataOutputStream, File, IOException}
import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.util.function.{Function => JFunction}

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.spark.SparkRuntimeException
import org.apache.spark.paths.SparkPath
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** A Parquet file of a registered table: what it was at registration, and the id of its first row. */
final case class PlacedFile(size: Long, modifiedMillis: Long, offset: Long)

/**
 * The files of one version of a registered table, by the path that `_metadata.file_path` shows.
 *
 * A file that is not the registered one stops the query: its rows have no ids.
 *
 * Every task gets a copy. It travels as bytes, which take no time to read back, and is unpacked when the first row comes.
 * Two of equal content are equal: else Spark would not see that two scans are the same one, which it could do once.
 */
final class PlacedFiles(private val table: String, private val packed: Array[Byte]) extends Serializable {
  @transient private lazy val files: java.util.HashMap[String, PlacedFile] = PlacedFiles.unpack(packed)

  override def equals(other: Any): Boolean = other match {
    case that: PlacedFiles => table == that.table && java.util.Arrays.equals(packed, that.packed)
    case _ => false
  }

  override def hashCode: Int = java.util.Arrays.hashCode(packed)

  /** The id of the first row of a file. */
  def offset(path: UTF8String, size: Long, modifiedMicros: Long): Long = {
    val file = files.get(path.toString)
    if (file == null) broken(path, "is not among the registered files of")
    if (file.size != size || file.modifiedMillis != modifiedMicros / 1000) broken(path, "has changed since the registration of")
    file.offset
  }

  private def broken(path: UTF8String, what: String): Nothing =
    throw PositionError(s"$path $what $table, so its rows have no ids. Call lineage.refresh('$table').")
}

object PlacedFiles {

  /** Reads a manifest that `forward_lineage.row_ids` wrote. */
  def read(manifest: String): PlacedFiles = {
    val json =
      try new ObjectMapper().readTree(new File(manifest))
      catch {
        case _: IOException =>
          throw PositionError(s"The manifest $manifest is missing or damaged. Register the table again.")
      }
    val bytes = new ByteArrayOutputStream
    val out = new DataOutputStream(bytes)
    out.writeInt(json.path("files").size)
    json.path("files").forEach { (file: JsonNode) =>
      val path = SparkPath.fromPathString("file:" + file.path("path").asText).urlEncoded.getBytes(UTF_8)
      out.writeInt(path.length)
      out.write(path)
      out.writeLong(file.path("size").asLong)
      out.writeLong(file.path("modified").asLong / 1000000L)
      out.writeLong(file.path("offset").asLong)
    }
    new PlacedFiles(json.path("name").asText, bytes.toByteArray)
  }

  private def unpack(packed: Array[Byte]): java.util.HashMap[String, PlacedFile] = {
    val in = ByteBuffer.wrap(packed)
    val count = in.getInt
    val files = new java.util.HashMap[String, PlacedFile](2 * count)
    for (_ <- 0 until count) {
      val path = new Array[Byte](in.getInt)
      in.get(path)
      files.put(new String(path, UTF_8), PlacedFile(in.getLong, in.getLong, in.getLong))
    }
    files
  }
}

/** A condition of Spark's own class: the driver reads what a task threw without any class of an added jar. */
private object PositionError {
  def apply(message: String): SparkRuntimeException =
    new SparkRuntimeException("USER_RAISED_EXCEPTION", Map("errorMessage" -> message), null, Array.empty, "")
}

/**
 * dl_row_id(manifest, _metadata): the id of a row by its physical position,
 *
 *     id = offset of its file (from the manifest) + its position in the file (Parquet's row index).
 *
 * The offset is looked up when the file changes, not for every row; constants of a file come as one and the same object.
 */
case class RowPosition(path: Expression, size: Expression, modified: Expression, index: Expression, files: PlacedFiles)
    extends Expression {

  override def prettyName: String = "dl_row_id"
  override def children: Seq[Expression] = Seq(path, size, modified, index)
  override def dataType: DataType = LongType
  override def nullable: Boolean = false
  override def stringArgs: Iterator[Any] = children.iterator // not a thousand files
  override def flatArguments: Iterator[Any] = children.iterator

  override def eval(row: InternalRow): Any = {
    val file = path.eval(row).asInstanceOf[UTF8String]
    files.offset(file, size.eval(row).asInstanceOf[Long], modified.eval(row).asInstanceOf[Long]) +
      index.eval(row).asInstanceOf[Long]
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val lookup = ctx.addReferenceObj("files", new OffsetOp(files), classOf[JFunction[_, _]].getName)
    val seen = ctx.addMutableState("UTF8String", "fileSeen") // the very object, for a quick comparison
    val current = ctx.addMutableState("UTF8String", "fileCurrent") // a copy: the object may lie in a reused buffer
    val offset = ctx.addMutableState("long", "fileOffset")
    val Seq(pathCode, sizeCode, modifiedCode, indexCode) = children.map(_.genCode(ctx))
    ev.copy(
      code = code"""
         |${pathCode.code}
         |if (${pathCode.value} != $seen) {
         |  if (!${pathCode.value}.equals($current)) {
         |    ${sizeCode.code}
         |    ${modifiedCode.code}
         |    $offset = (Long) $lookup.apply(
         |      new Object[]{${pathCode.value}, ${sizeCode.value}, ${modifiedCode.value}});
         |    $current = ${pathCode.value}.clone();
         |  }
         |  $seen = ${pathCode.value};
         |}
         |${indexCode.code}
         |long ${ev.value} = $offset + ${indexCode.value};
       """.stripMargin,
      isNull = FalseLiteral)
  }

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): RowPosition =
    copy(newChildren(0), newChildren(1), newChildren(2), newChildren(3))
}

object RowPosition {
  private val Fields = Seq("file_path", "file_size", "file_modification_time", "row_index")

  /** Builds the expression from the manifest's path and the hidden column `_metadata` of a Parquet scan. */
  def apply(manifest: Expression, metadata: Expression): RowPosition = {
    val fields = metadata.dataType match {
      case struct: StructType if Fields.forall(struct.fieldNames.contains) =>
        Fields.map(name => GetStructField(metadata, struct.fieldIndex(name), Some(name)))
      case other =>
        throw PositionError(s"dl_row_id needs the _metadata of a Parquet scan, not ${other.catalogString}.")
    }
    if (!manifest.foldable || manifest.dataType != StringType) {
      throw PositionError("dl_row_id needs the path of a manifest as a string literal.")
    }
    val files = PlacedFiles.read(manifest.eval().toString)
    RowPosition(fields(0), fields(1), fields(2), fields(3), files)
  }
}

/** The lookup for generated code, which may not know the kernel's classes by name. */
final class OffsetOp(files: PlacedFiles) extends Op[Array[AnyRef], AnyRef] {
  override def apply(arguments: Array[AnyRef]): AnyRef =
    Long.box(
      files.offset(
        arguments(0).asInstanceOf[UTF8String],
        arguments(1).asInstanceOf[Long],
        arguments(2).asInstanceOf[Long]))
}
