package org.apache.spark.sql.forwardlineage

import java.util.function.{Function => JFunction}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, ExpectsInputTypes, XXH64}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.types.{AbstractDataType, BinaryType, DataType, LongType, TypeCollection}
import org.apache.spark.unsafe.Platform

/**
 * dl_number(dl, ...): a number for a row, computed from nothing but its lineage: wherever and whenever the row is computed
 * again, it is the same. Rows of one lineage share it; where two lineages do by chance, `dl_relation` refuses.
 *
 * Spark is told that it may differ at every evaluation: a CTE with such a column is not put in where it is used, but
 * evaluated once for all its uses.
 */
case class DlNumber(children: Seq[Expression]) extends Expression with ExpectsInputTypes {
  override lazy val deterministic: Boolean = false
  override def prettyName: String = "dl_number"
  override def inputTypes: Seq[AbstractDataType] = children.map(_ => TypeCollection(LongType, BinaryType))
  override def dataType: DataType = LongType
  override def nullable: Boolean = false

  override def eval(row: InternalRow): Any = RowNumber(children.map(_.eval(row).asInstanceOf[AnyRef]).toArray)

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val function = ctx.addReferenceObj("op", RowNumber, classOf[JFunction[_, _]].getName)
    val (arguments, body) = Arguments.gathered(children, ctx)
    ev.copy(code = body + code"long ${ev.value} = (Long) $function.apply($arguments);", isNull = FalseLiteral)
  }

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): DlNumber = copy(newChildren)
}

private object RowNumber extends Op[Array[AnyRef], Any] {
  private val Seed = 42L

  override def apply(lineage: Array[AnyRef]): Any = {
    var hash = Seed
    for (one <- lineage) hash = one match {
      case null => XXH64.hashInt(0, hash)
      case id: java.lang.Long => XXH64.hashLong(id, hash)
      case value => ofBytes(value.asInstanceOf[Array[Byte]], hash)
    }
    hash & Long.MaxValue
  }

  private def ofBytes(bytes: Array[Byte], seed: Long): Long =
    XXH64.hashUnsafeBytes(bytes, Platform.BYTE_ARRAY_OFFSET, bytes.length, seed)
}
