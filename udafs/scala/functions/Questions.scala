package org.apache.spark.sql.forwardlineage

import java.util.function.{Function => JFunction}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodeGenerator, CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.types._

/** A question to one lineage value; NULL for NULL. */
abstract class LineageQuestion extends UnaryExpression with ExpectsInputTypes with NullForNull {
  protected def op: Op[Array[Byte], Any]

  override def inputTypes: Seq[AbstractDataType] = BinaryType :: Nil
  override protected def nullSafeEval(value: Any): Any = op(value.asInstanceOf[Array[Byte]])

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val function = ctx.addReferenceObj("op", op, classOf[JFunction[_, _]].getName)
    nullSafeCodeGen(ctx, ev, value => s"${ev.value} = (${CodeGenerator.boxedType(dataType)}) $function.apply($value);")
  }
}

/** dl_size(dl): number of ids. */
case class DlSize(child: Expression) extends LineageQuestion {
  override def prettyName: String = "dl_size"
  override def dataType: DataType = LongType
  override protected def op: Op[Array[Byte], Any] = DlSize.op
  override protected def withNewChildInternal(newChild: Expression): DlSize = copy(child = newChild)
}

object DlSize {
  private object op extends Op[Array[Byte], Any] { def apply(dl: Array[Byte]): Any = LineageValues.size(dl) }
}

/** dl_ids(dl): the ids, ascending. */
case class DlIds(child: Expression) extends LineageQuestion {
  override def prettyName: String = "dl_ids"
  override def dataType: DataType = ArrayType(LongType, containsNull = false)
  override protected def op: Op[Array[Byte], Any] = DlIds.op
  override protected def withNewChildInternal(newChild: Expression): DlIds = copy(child = newChild)
}

object DlIds {
  private object op extends Op[Array[Byte], Any] { def apply(dl: Array[Byte]): Any = LineageValues.ids(dl) }
}

/** dl_encoding(dl): 'set', 'bdd' or 'roaring'. */
case class DlEncoding(child: Expression) extends LineageQuestion {
  override def prettyName: String = "dl_encoding"
  override def dataType: DataType = StringType
  override protected def op: Op[Array[Byte], Any] = DlEncoding.op
  override protected def withNewChildInternal(newChild: Expression): DlEncoding = copy(child = newChild)
}

object DlEncoding {
  private object op extends Op[Array[Byte], Any] { def apply(dl: Array[Byte]): Any = LineageValues.encoding(dl) }
}

/** Two arguments, NULL when either is; the op takes them as a pair of objects. */
abstract class LineageComparison extends BinaryExpression with ExpectsInputTypes with NullForNull {
  protected def op: Op[Array[AnyRef], Any]

  override def dataType: DataType = BooleanType
  override protected def nullSafeEval(a: Any, b: Any): Any = op(Array(a.asInstanceOf[AnyRef], b.asInstanceOf[AnyRef]))

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val function = ctx.addReferenceObj("op", op, classOf[JFunction[_, _]].getName)
    nullSafeCodeGen(ctx, ev, (a, b) => s"${ev.value} = (${CodeGenerator.boxedType(dataType)}) $function.apply(new Object[]{$a, $b});")
  }
}

/** dl_contains(dl, id) */
case class DlContains(left: Expression, right: Expression) extends LineageComparison {
  override def prettyName: String = "dl_contains"
  override def inputTypes: Seq[AbstractDataType] = Seq(BinaryType, LongType)
  override protected def op: Op[Array[AnyRef], Any] = DlContains.op
  override protected def withNewChildrenInternal(l: Expression, r: Expression): DlContains = copy(left = l, right = r)
}

object DlContains {
  private object op extends Op[Array[AnyRef], Any] {
    def apply(arguments: Array[AnyRef]): Any =
      LineageValues.contains(arguments(0).asInstanceOf[Array[Byte]], arguments(1).asInstanceOf[Long])
  }
}

/** dl_intersection(a, b): the ids that are in both. */
case class DlIntersection(left: Expression, right: Expression, setting: Int) extends LineageComparison {
  override def prettyName: String = "dl_intersection"
  override def inputTypes: Seq[AbstractDataType] = Seq(BinaryType, BinaryType)
  override def dataType: DataType = BinaryType
  override def flatArguments: Iterator[Any] = children.iterator
  override def stringArgs: Iterator[Any] = children.iterator
  override protected def op: Op[Array[AnyRef], Any] = new IntersectionOp(setting)
  override protected def withNewChildrenInternal(l: Expression, r: Expression): DlIntersection = copy(left = l, right = r)
}

private final class IntersectionOp(setting: Int) extends Op[Array[AnyRef], Any] {
  override def apply(arguments: Array[AnyRef]): Any = {
    val ids = LineageValues.common(arguments(0).asInstanceOf[Array[Byte]], arguments(1).asInstanceOf[Array[Byte]])
    Encoding.encode(new SortedIds(ids, ids.length), setting)
  }
}

/** dl_intersects(a, b): whether they share an id. */
case class DlIntersects(left: Expression, right: Expression) extends LineageComparison {
  override def prettyName: String = "dl_intersects"
  override def inputTypes: Seq[AbstractDataType] = Seq(BinaryType, BinaryType)
  override protected def op: Op[Array[AnyRef], Any] = DlIntersects.op
  override protected def withNewChildrenInternal(l: Expression, r: Expression): DlIntersects = copy(left = l, right = r)
}

object DlIntersects {
  private object op extends Op[Array[AnyRef], Any] {
    def apply(arguments: Array[AnyRef]): Any =
      LineageValues.intersects(arguments(0).asInstanceOf[Array[Byte]], arguments(1).asInstanceOf[Array[Byte]])
  }
}
