package org.apache.spark.sql.forwardlineage

import java.util.function.{Function => JFunction}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.TypeCheckResult
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.types._

/** The types whose values are integers, from `least` to `most`, in their order: each value is an id by itself. */
object OwnIds {
  private val OfWord = Seq(BooleanType, ByteType, ShortType, IntegerType, LongType, DateType, TimestampType, TimestampNTZType)
    .map(known => known.sql -> known).toMap[String, DataType]
  private val Decimals = raw"DECIMAL\((\d+),(\d+)\)".r

  /** Returns the type of that name, as `DataType.sql` spells it. */
  def typed(name: Expression, function: String): DataType = text(name) match {
    case Some(word) if OfWord.contains(word) => OfWord(word)
    case Some(Decimals(precision, scale)) if precision.toInt <= Decimal.MAX_LONG_DIGITS =>
      DecimalType(precision.toInt, scale.toInt)
    case other => LineageErrors.refuse(s"$function has no type ${other.getOrElse(name.sql)}.")
  }

  /** Returns the value of a literal BIGINT. */
  def bound(literal: Expression, function: String): Long =
    if (literal.foldable && literal.dataType == LongType) literal.eval().asInstanceOf[Long]
    else LineageErrors.refuse(s"$function needs its bounds as literals.")

  private def text(literal: Expression): Option[String] =
    if (literal.foldable && literal.dataType == StringType) Some(literal.eval().toString) else None

  /** The integer that a value is, in generated code. */
  private[forwardlineage] def integer(typed: DataType, value: String): String = typed match {
    case BooleanType => s"($value ? 1L : 0L)"
    case _: DecimalType => s"$value.toUnscaledLong()"
    case _ => s"((long) $value)"
  }

  private[forwardlineage] def integer(value: Any): Long = value match {
    case yes: Boolean => if (yes) 1L else 0L
    case number: Decimal => number.toUnscaledLong
    case number: Number => number.longValue
  }

  /** The value that an integer is. */
  private[forwardlineage] def value(typed: DataType, integer: Long): Any = typed match {
    case BooleanType => integer != 0L
    case ByteType => integer.toByte
    case ShortType => integer.toShort
    case IntegerType | DateType => integer.toInt
    case decimal: DecimalType => Decimal(integer, decimal.precision, decimal.scale)
    case _ => integer
  }
}

/** dl_granule(value, type, least, most): 0 for NULL, 1 for the least value, and so on in the order of the values. */
case class DlGranule(child: Expression, typed: DataType, least: Long, most: Long) extends UnaryExpression {
  override def prettyName: String = "dl_granule"
  override def dataType: DataType = LongType
  override def nullable: Boolean = false
  override def stringArgs: Iterator[Any] = children.iterator

  override def checkInputDataTypes(): TypeCheckResult =
    if (child.dataType == typed) TypeCheckResult.TypeCheckSuccess
    else TypeCheckResult.TypeCheckFailure(s"dl_granule takes ${typed.sql} here, not ${child.dataType.sql}")

  override def eval(row: InternalRow): Any = child.eval(row) match {
    case null => 0L
    case value =>
      val integer = OwnIds.integer(value)
      if (integer < least || integer > most) new OutsideOp(typed, least, most).apply(integer)
      integer - least + 1
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val refuse = ctx.addReferenceObj("outside", new OutsideOp(typed, least, most), classOf[JFunction[_, _]].getName)
    val integer = ctx.freshName("integer")
    val code = child.genCode(ctx)
    ev.copy(
      code = code"""
         |${code.code}
         |long ${ev.value} = 0L;
         |if (!${code.isNull}) {
         |  long $integer = ${OwnIds.integer(typed, code.value.toString)};
         |  if ($integer < ${least}L || $integer > ${most}L) $refuse.apply($integer);
         |  ${ev.value} = $integer - ${least}L + 1L;
         |}
       """.stripMargin,
      isNull = FalseLiteral)
  }

  override protected def withNewChildInternal(newChild: Expression): DlGranule = copy(child = newChild)
}

/** Refuses a value that has no id: never another one's in its place. */
final class OutsideOp(typed: DataType, least: Long, most: Long) extends Op[Any, AnyRef] {
  override def apply(integer: Any): AnyRef = {
    def shown(number: Long): String = Literal(OwnIds.value(typed, number), typed).sql
    val instead = typed match {
      case LongType => "CAST it to DECIMAL(20) in LINEAGE ON"
      case _ => "CAST it to STRING in LINEAGE ON"
    }
    LineageErrors.refuse(
      s"LINEAGE ON: a value, the ${typed.sql} number ${integer.asInstanceOf[Long]}, is not between ${shown(least)} and " +
        s"${shown(most)}, the values that are ids by themselves. If the table has changed, register it again; else $instead.")
  }
}

/** dl_granule_value(id, type, least): the value that has this id; NULL for 0 and for NULL. */
case class DlGranuleValue(child: Expression, typed: DataType, least: Long) extends UnaryExpression with ExpectsInputTypes {
  override def prettyName: String = "dl_granule_value"
  override def inputTypes: Seq[AbstractDataType] = LongType :: Nil
  override def dataType: DataType = typed
  override def nullable: Boolean = true
  override def stringArgs: Iterator[Any] = children.iterator

  @transient private lazy val op = new GranuleValueOp(typed, least)
  override protected def nullSafeEval(id: Any): Any = op(id)

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = GranuleValues.generated(this, op, ctx, ev)

  override protected def withNewChildInternal(newChild: Expression): DlGranuleValue = copy(child = newChild)
}

final class GranuleValueOp(typed: DataType, least: Long) extends Op[Any, Any] {
  override def apply(id: Any): Any = id.asInstanceOf[Long] match {
    case 0L => null
    case place => OwnIds.value(typed, place - 1 + least)
  }
}
