package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.types._

/**
 * dl_contains(dl, id) for a value that is the same for all rows: it is taken apart once, not for every row.
 *
 * Over ids by position it also says what need not be read, see `ChosenRows`.
 */
case class DlAmong(child: Expression, ids: ChosenIds) extends UnaryExpression with Predicate with ExpectsInputTypes with NullForNull {
  override def prettyName: String = "dl_contains"
  override def inputTypes: Seq[AbstractDataType] = LongType :: Nil
  override protected def nullSafeEval(id: Any): Any = ids.test(id.asInstanceOf[Long])

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val chosen = ctx.addReferenceObj("chosen", ids, "java.util.function.LongPredicate")
    nullSafeCodeGen(ctx, ev, id => s"${ev.value} = $chosen.test($id);")
  }

  override protected def withNewChildInternal(newChild: Expression): DlAmong = copy(child = newChild)
}

object DlAmong {

  /** dl_contains(dl, id), in whichever way it is best computed. */
  def contains(dl: Expression, id: Expression): Expression = dl match {
    case Literal(value: Array[Byte], BinaryType) => DlAmong(id, new ChosenIds(value))
    case _ => DlContains(dl, id)
  }
}
