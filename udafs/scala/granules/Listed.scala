package org.apache.spark.sql.forwardlineage

import java.nio.ByteBuffer
import java.util
import java.util.function.{Function => JFunction}

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.TypeCheckResult
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** The strings that a column has, written into the query: each in UTF-8 behind its length (4 bytes, high ones first), ascending. */
object Listed {
  def values(literal: Expression, function: String): Seq[UTF8String] = {
    if (!literal.foldable || literal.dataType != BinaryType) {
      LineageErrors.refuse(s"$function needs its list of values as a BINARY literal.")
    }
    val bytes = ByteBuffer.wrap(literal.eval().asInstanceOf[Array[Byte]])
    val found = ArrayBuffer.empty[UTF8String]
    while (bytes.hasRemaining) {
      val length = if (bytes.remaining < 4) -1 else bytes.getInt
      if (length < 0 || length > bytes.remaining) LineageErrors.refuse(s"$function: the list of values is cut short.")
      val value = new Array[Byte](length)
      bytes.get(value)
      found += UTF8String.fromBytes(value)
    }
    found.toSeq
  }
}

/** dl_listed(value, list): 0 for NULL, else the place in the list, from 1; a value that is not in it is refused. */
case class DlListed(child: Expression, values: Seq[UTF8String]) extends UnaryExpression {
  override def prettyName: String = "dl_listed"
  override def dataType: DataType = LongType
  override def nullable: Boolean = false
  override def stringArgs: Iterator[Any] = children.iterator // not a thousand values

  @transient private lazy val op = new ListedOp(values)

  override def checkInputDataTypes(): TypeCheckResult =
    if (child.dataType == StringType) TypeCheckResult.TypeCheckSuccess
    else TypeCheckResult.TypeCheckFailure(s"dl_listed takes STRING, not ${child.dataType.sql}")

  override def eval(row: InternalRow): Any = child.eval(row) match {
    case null => 0L
    case value => op(value)
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val function = ctx.addReferenceObj("listed", op, classOf[JFunction[_, _]].getName)
    val code = child.genCode(ctx)
    ev.copy(
      code = code"""
         |${code.code}
         |long ${ev.value} = ${code.isNull} ? 0L : (Long) $function.apply(${code.value});
       """.stripMargin,
      isNull = FalseLiteral)
  }

  override protected def withNewChildInternal(newChild: Expression): DlListed = copy(child = newChild)
}

final class ListedOp(values: Seq[UTF8String]) extends Op[Any, AnyRef] {
  private val places = {
    val made = new util.HashMap[UTF8String, AnyRef](values.size * 2)
    for ((value, i) <- values.zipWithIndex) made.put(value, Long.box(i + 1L))
    made
  }

  override def apply(value: Any): AnyRef = {
    val place = places.get(value)
    if (place == null) {
      LineageErrors.refuse(
        "LINEAGE ON: a value is not one of those that its column had when the query was made. Make the query again; if its " +
          "table has changed, register that again.")
    }
    place
  }
}

/** dl_listed_value(place, list): the value at a place of the list; NULL for 0 and for NULL. */
case class DlListedValue(child: Expression, values: Seq[UTF8String]) extends UnaryExpression with ExpectsInputTypes {
  override def prettyName: String = "dl_listed_value"
  override def inputTypes: Seq[AbstractDataType] = LongType :: Nil
  override def dataType: DataType = StringType
  override def nullable: Boolean = true
  override def stringArgs: Iterator[Any] = children.iterator

  // `transform` interprets what it applies: not a list for every id.
  @transient private lazy val op = new ListedValueOp(values.toArray)
  override protected def nullSafeEval(place: Any): Any = op(place)

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = GranuleValues.generated(this, op, ctx, ev)

  override protected def withNewChildInternal(newChild: Expression): DlListedValue = copy(child = newChild)
}

final class ListedValueOp(values: Array[UTF8String]) extends Op[Any, Any] {
  override def apply(place: Any): Any = place.asInstanceOf[Long] match {
    case 0L => null
    case known => values((known - 1).toInt)
  }
}
