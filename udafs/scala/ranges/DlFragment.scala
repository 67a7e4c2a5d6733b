package org.apache.spark.sql.forwardlineage

import java.util.function.{LongUnaryOperator, ToLongFunction}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.TypeCheckResult
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.types._

/** dl_fragment(value, bounds): 0 for NULL, else 1 and how many bounds are at or before it.   [Niu 2022, §4.1, §4.3] */
case class DlFragment(child: Expression, bounds: Bounds) extends UnaryExpression {
  override def prettyName: String = "dl_fragment"
  override def dataType: DataType = LongType
  override def nullable: Boolean = false
  override def stringArgs: Iterator[Any] = children.iterator // not ten thousand bounds

  override def checkInputDataTypes(): TypeCheckResult = Ranged.check(prettyName, child, bounds)

  override def eval(row: InternalRow): Any = child.eval(row) match {
    case null => 0L
    case value => 1L + bounds.behind(Keys.of(child.dataType, value))
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val code = child.genCode(ctx)
    val key = Keys.code(child.dataType, code.value.toString)
    val found = bounds match {
      case whole: WholeBounds =>
        s"${ctx.addReferenceObj("bounds", new WholeFragment(whole), classOf[LongUnaryOperator].getName)}.applyAsLong($key)"
      case ordered =>
        s"${ctx.addReferenceObj("bounds", new OrderedFragment(ordered), classOf[ToLongFunction[_]].getName)}.applyAsLong($key)"
    }
    ev.copy(
      code = code"""
         |${code.code}
         |long ${ev.value} = ${code.isNull} ? 0L : $found;
       """.stripMargin,
      isNull = FalseLiteral)
  }

  override protected def withNewChildInternal(newChild: Expression): DlFragment = copy(child = newChild)
}

/** Rows of a scan often come in the order of the column: the fragment before is asked first. */
final class WholeFragment(bounds: WholeBounds) extends LongUnaryOperator with Serializable {
  @transient private lazy val values = bounds.values
  @transient private var place = 0 // bounds at or before the key before

  override def applyAsLong(key: Long): Long = {
    val n = values.length
    if ((place > 0 && values(place - 1) > key) || (place < n && values(place) <= key)) place = bounds.count(key)
    place + 1L
  }
}

final class OrderedFragment(bounds: Bounds) extends ToLongFunction[Any] with Serializable {
  override def applyAsLong(key: Any): Long = 1L + bounds.behind(key)
}

object Ranged {
  def check(function: String, child: Expression, bounds: Bounds): TypeCheckResult =
    if (bounds.takes(child.dataType)) TypeCheckResult.TypeCheckSuccess
    else TypeCheckResult.TypeCheckFailure(s"$function has no ranges of ${child.dataType.sql}, or has those of another type")
}
