package org.apache.spark.sql.forwardlineage

import java.util.function.{Function => JFunction}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.types._

/**
 * dl_stored(dl, table, …): a lineage value that a table keeps beside a row, if it can be believed.
 *
 * NULL is no lineage: it would pass for "made of no row". Ids whose rows are gone name nothing any more.
 */
case class DlStored(child: Expression, table: String, gone: Seq[(Long, Long)]) extends UnaryExpression with ExpectsInputTypes {
  override def prettyName: String = "dl_stored"
  override def inputTypes: Seq[AbstractDataType] = BinaryType :: Nil
  override def dataType: DataType = BinaryType
  override def nullable: Boolean = false
  override def flatArguments: Iterator[Any] = Iterator(child, table)
  override def stringArgs: Iterator[Any] = Iterator(child, table)

  private def op: Op[Array[Byte], Array[Byte]] = new StoredOp(table, gone.toArray)
  @transient private lazy val interpreted = op

  override def eval(row: InternalRow): Any = interpreted(child.eval(row).asInstanceOf[Array[Byte]])

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val function = ctx.addReferenceObj("op", op, classOf[JFunction[_, _]].getName)
    val value = child.genCode(ctx)
    ev.copy(
      code = code"""
         |${value.code}
         |byte[] ${ev.value} = (byte[]) $function.apply(${value.isNull} ? null : ${value.value});
       """.stripMargin,
      isNull = FalseLiteral)
  }

  override protected def withNewChildInternal(newChild: Expression): DlStored = copy(child = newChild)
}

/** @param gone ranges [first, end) of ids whose rows are gone */
private final class StoredOp(table: String, gone: Array[(Long, Long)]) extends Op[Array[Byte], Array[Byte]] {

  override def apply(value: Array[Byte]): Array[Byte] = {
    if (value == null) {
      LineageErrors.refuse(
        s"A row of $table has no lineage: NULL stands in its column DL, so it was not written by a traced statement. " +
          s"Write such rows with lineage.sql('INSERT … SELECT'), or query $table with spark.sql.")
    }
    if (gone.isEmpty) LineageValues.size(value) // raises what is wrong with bytes that are no lineage value
    else LineageValues.idArray(value).find(id => gone.exists { case (first, end) => first <= id && id < end }).foreach { id =>
      LineageErrors.refuse(
        s"The lineage of a row of $table no longer holds: the base row with id $id is gone. Write $table anew from what is there now.")
    }
    value
  }
}
