package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.TypeCheckResult
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._

/** dl_in_ranges(value, bounds, fragments): whether the fragment of a value is among some; never NULL.   [Niu 2022, §5.1] */
case class DlInRanges(child: Expression, ranges: RangeSet) extends UnaryExpression with Predicate {
  override def prettyName: String = "dl_in_ranges"
  override def nullable: Boolean = false

  override def checkInputDataTypes(): TypeCheckResult = Ranged.check(prettyName, child, ranges.bounds)

  override def eval(row: InternalRow): Any = child.eval(row) match {
    case null => ranges.nulls
    case value => ranges.holds(Keys.of(child.dataType, value))
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val code = child.genCode(ctx)
    val chosen = ranges.bounds match {
      case _: WholeBounds => ctx.addReferenceObj("ranges", ranges, "java.util.function.LongPredicate")
      case _ => ctx.addReferenceObj("ranges", new RangesOfObjects(ranges), "java.util.function.Predicate")
    }
    ev.copy(
      code = code"""
         |${code.code}
         |boolean ${ev.value} = ${code.isNull} ? ${ranges.nulls} : $chosen.test(${Keys.code(child.dataType, code.value.toString)});
       """.stripMargin,
      isNull = FalseLiteral)
  }

  override protected def withNewChildInternal(newChild: Expression): DlInRanges = copy(child = newChild)
}
