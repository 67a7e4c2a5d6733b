package org.apache.spark.sql.forwardlineage

import java.util.function.{Function => JFunction}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.TypeCheckResult
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** dl_range(fragment, bounds, type): the range from a value, inclusive, until another, NULL: without end; NULL for fragment 0. */
case class DlRange(child: Expression, bounds: Bounds, typed: DataType) extends UnaryExpression with ExpectsInputTypes {
  override def prettyName: String = "dl_range"
  override def inputTypes: Seq[AbstractDataType] = LongType :: Nil
  override val dataType: StructType = StructType(Seq(StructField("from", typed), StructField("until", typed)))
  override def nullable: Boolean = true
  override def stringArgs: Iterator[Any] = children.iterator

  override def checkInputDataTypes(): TypeCheckResult = {
    val arguments = super.checkInputDataTypes()
    if (arguments.isFailure || bounds.takes(typed)) arguments
    else TypeCheckResult.TypeCheckFailure(s"$prettyName has ranges of another type than ${typed.sql}")
  }

  @transient private lazy val op = new RangeOp(bounds, typed)
  override protected def nullSafeEval(fragment: Any): Any = op.apply(fragment)

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val function = ctx.addReferenceObj("range", op, classOf[JFunction[_, _]].getName)
    nullSafeCodeGen(ctx, ev, fragment => s"""
      |${ev.value} = (InternalRow) $function.apply($fragment);
      |${ev.isNull} = ${ev.value} == null;
      |""".stripMargin)
  }

  override protected def withNewChildInternal(newChild: Expression): DlRange = copy(child = newChild)
}

object DlRange {
  def typed(name: Expression): DataType =
    if (name.foldable && name.dataType == StringType) DataType.fromDDL(name.eval().toString)
    else LineageErrors.refuse("dl_range needs the type of its values as a STRING literal.")
}

final class RangeOp(bounds: Bounds, typed: DataType) extends JFunction[Any, AnyRef] with Serializable {
  override def apply(fragment: Any): AnyRef = fragment.asInstanceOf[Long] match {
    case 0L => null
    case known if known < 0 || known > bounds.size + 1 => LineageErrors.refuse("dl_range: a fragment that there is not.")
    case known =>
      val place = known.toInt
      InternalRow(
        if (place == 1) null else Keys.value(typed, bounds(place - 2)),
        if (place == bounds.size + 1) null else Keys.value(typed, bounds(place - 1)))
  }
}
