package org.apache.spark.sql.forwardlineage

import java.util.function.{Function => JFunction}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{Block, CodegenContext, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.trees.UnaryLike
import org.apache.spark.sql.types._

/** A lineage value out of ids and lineage values; never NULL, NULL arguments are empty sets. */
abstract class LineageConstructor extends Expression with ExpectsInputTypes {
  protected def setting: Int
  override def dataType: DataType = BinaryType
  override def nullable: Boolean = false

  // The setting is not part of the SQL text.
  override def flatArguments: Iterator[Any] = children.iterator
  override def stringArgs: Iterator[Any] = children.iterator

  @transient private lazy val op = newOp

  protected def newOp: Op[Array[AnyRef], Array[Byte]] = new UnionOp(setting, children.map(_.dataType match {
    case ArrayType(LongType, _) => true
    case _ => false
  }).toArray)

  override def eval(row: InternalRow): Any = op(children.map(_.eval(row).asInstanceOf[AnyRef]).toArray)

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val function = ctx.addReferenceObj("op", newOp, classOf[JFunction[_, _]].getName)
    val (arguments, body) = Arguments.gathered(children, ctx)
    ev.copy(
      code = body + code"byte[] ${ev.value} = (byte[]) $function.apply($arguments);",
      isNull = FalseLiteral)
  }
}

/** The arguments of a call as an array of objects, which generated code hands to an `Op`. */
object Arguments {
  /** Returns the name of the array, and the code that fills it. */
  def gathered(children: Seq[Expression], ctx: CodegenContext): (String, Block) = {
    val arguments = ctx.freshName("arguments")
    val assignments = children.map(_.genCode(ctx)).zipWithIndex.map { case (code, i) =>
      code"""
         |${code.code}
         |if (!${code.isNull}) $arguments[$i] = ${code.value};
       """.stripMargin
    }
    (arguments, assignments.foldLeft(code"Object[] $arguments = new Object[${children.size}];": Block)(_ + _))
  }
}

/** dl_of(id): {id}, and {} for NULL. */
case class DlOf(child: Expression, protected val setting: Int) extends LineageConstructor with UnaryLike[Expression] {
  override def prettyName: String = "dl_of"
  override def inputTypes: Seq[AbstractDataType] = LongType :: Nil
  override protected def withNewChildInternal(newChild: Expression): DlOf = copy(child = newChild)
}

/** dl_union(a, b, ...): the union of any number of ids, lineage values and arrays of them. */
case class DlUnionAll(children: Seq[Expression], protected val setting: Int) extends LineageConstructor {
  override def prettyName: String = "dl_union"
  override def inputTypes: Seq[AbstractDataType] = children.map(_ => DlUnionAll.Lists)

  /** Whether it unites ids and sets, and no lists of them. */
  def hasNoLists: Boolean = children.forall(each => each.dataType == LongType || each.dataType == BinaryType)
  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): DlUnionAll =
    copy(children = newChildren)
}

object DlUnionAll {
  private val Lists = TypeCollection(LongType, BinaryType, ArrayType(LongType), ArrayType(BinaryType))
}
