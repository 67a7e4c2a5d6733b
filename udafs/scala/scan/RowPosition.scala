package org.apache.spark.sql.forwardlineage

import java.util.function.{Function => JFunction}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

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
        LineageErrors.refuse(s"dl_row_id needs the _metadata of a Parquet scan, not ${other.catalogString}.")
    }
    if (!manifest.foldable || manifest.dataType != StringType) {
      LineageErrors.refuse("dl_row_id needs the path of a manifest as a string literal.")
    }
    val files = ManifestFile.read(manifest.eval().toString)
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
