package org.apache.spark.sql.forwardlineage

import java.util.function.{LongBinaryOperator, LongFunction, Supplier, ToLongBiFunction}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.DeclarativeAggregate
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.trees.UnaryLike
import org.apache.spark.sql.types.{BinaryType, DataType, LongType}

/**
 * `DlUnion` with a buffer of one long, a handle into a `GroupPool`, so that Spark's hash aggregation with generated code takes it.
 * Handles mean nothing in another task: `LineageAggregation` plans it so that none leaves its own.
 *
 * @param key names the pool within a task
 */
case class PooledUnion(child: Expression, key: Long, setting: Int) extends DeclarativeAggregate with UnaryLike[Expression] {
  override def prettyName: String = "dlunion"
  override def nullable: Boolean = false
  override def dataType: DataType = BinaryType
  override def stringArgs: Iterator[Any] = Iterator(child)

  val handle: AttributeReference = AttributeReference("handle", LongType, nullable = false)()
  override def aggBufferAttributes: Seq[AttributeReference] = handle :: Nil
  override lazy val initialValues: Seq[Expression] = Literal(GroupPool.Empty) :: Nil
  override lazy val updateExpressions: Seq[Expression] = PoolAdd(handle, child, key) :: Nil
  override lazy val mergeExpressions: Seq[Expression] = PoolMerge(handle.left, handle.right, key) :: Nil
  override lazy val evaluateExpression: Expression = PoolValue(handle, key, Some(setting))
  override lazy val canonicalized: Expression = copy(child = child.canonicalized, key = 0)
  override protected def withNewChildInternal(newChild: Expression): PooledUnion = copy(child = newChild)
}

/** Finds the pool of `key`: in generated code once for a partition, through types that every class loader knows. */
final class PoolOf(key: Long) extends Supplier[AnyRef] with Serializable {
  override def get(): AnyRef = GroupPool.of(key)
}

/** The handle after adding an id or a lineage value; unchanged for NULL. */
case class PoolAdd(left: Expression, right: Expression, key: Long) extends BinaryExpression {
  override def dataType: DataType = LongType
  override def nullable: Boolean = false
  override lazy val canonicalized: Expression = copy(left.canonicalized, right.canonicalized, 0)
  @transient private lazy val pool = GroupPool.of(key)

  override def eval(row: InternalRow): Any = {
    val handle = left.eval(row).asInstanceOf[Long]
    right.eval(row) match {
      case null => handle
      case id: Long => pool.applyAsLong(handle, id)
      case value => pool.applyAsLong(Long.box(handle), value.asInstanceOf[Array[Byte]])
    }
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val isId = right.dataType == LongType
    val kind = (if (isId) classOf[LongBinaryOperator] else classOf[ToLongBiFunction[_, _]]).getName
    val supplier = ctx.addReferenceObj("poolOf", new PoolOf(key), classOf[Supplier[_]].getName)
    val pool = ctx.addMutableState(kind, "pool", v => s"$v = ($kind) $supplier.get();")
    val handle = left.genCode(ctx)
    val value = right.genCode(ctx)
    val before = if (isId) handle.value.code else s"Long.valueOf(${handle.value})"
    ev.copy(
      code = code"""
        ${handle.code}
        ${value.code}
        long ${ev.value} = ${handle.value};
        if (!${value.isNull}) ${ev.value} = $pool.applyAsLong($before, ${value.value});""",
      isNull = codegen.FalseLiteral)
  }

  override protected def withNewChildrenInternal(l: Expression, r: Expression): PoolAdd = copy(left = l, right = r)
}

/** The handle of the union of two groups. */
case class PoolMerge(left: Expression, right: Expression, key: Long) extends BinaryExpression with codegen.CodegenFallback {
  override def dataType: DataType = LongType
  override def nullable: Boolean = false
  override lazy val canonicalized: Expression = copy(left.canonicalized, right.canonicalized, 0)
  @transient private lazy val pool = GroupPool.of(key)
  override def eval(row: InternalRow): Any =
    pool.merge(left.eval(row).asInstanceOf[Long], right.eval(row).asInstanceOf[Long])
  override protected def withNewChildrenInternal(l: Expression, r: Expression): PoolMerge = copy(left = l, right = r)
}

/** The bytes of a group: a partial result, or the lineage value under a setting. */
case class PoolValue(child: Expression, key: Long, setting: Option[Int]) extends UnaryExpression {
  override def dataType: DataType = BinaryType
  override def nullable: Boolean = false
  override lazy val canonicalized: Expression = copy(child = child.canonicalized, key = 0)
  @transient private lazy val read = new ReadPool(key, setting).get()
  override def eval(row: InternalRow): Any = read(child.eval(row).asInstanceOf[Long])

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val kind = classOf[LongFunction[_]].getName
    val supplier = ctx.addReferenceObj("readPool", new ReadPool(key, setting), classOf[Supplier[_]].getName)
    val read = ctx.addMutableState(kind, "read", v => s"$v = ($kind) $supplier.get();")
    val handle = child.genCode(ctx)
    ev.copy(
      code = code"""
        ${handle.code}
        byte[] ${ev.value} = (byte[]) $read.apply(${handle.value});""",
      isNull = codegen.FalseLiteral)
  }

  override protected def withNewChildInternal(newChild: Expression): PoolValue = copy(child = newChild)
}

final class ReadPool(key: Long, setting: Option[Int]) extends Supplier[LongFunction[Array[Byte]]] with Serializable {
  override def get(): LongFunction[Array[Byte]] = {
    val pool = GroupPool.of(key)
    setting match {
      case Some(chosen) => handle => pool.result(handle, chosen)
      case None => handle => pool.partial(handle)
    }
  }
}
