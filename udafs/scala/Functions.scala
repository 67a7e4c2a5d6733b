package org.apache.spark.sql.forwardlineage

import java.util.function.{Function => JFunction}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodeGenerator, CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.trees.UnaryLike
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types._

/**
 * The scalar functions. Generated code calls them through `java.util.function.Function`: the compiler of generated code looks
 * classes up in the loader of the calling thread, and that one need not know an added jar.
 */
object Arguments {
  val IdOrLineage: TypeCollection = TypeCollection(LongType, BinaryType)
  val Lists: TypeCollection = TypeCollection(LongType, BinaryType, ArrayType(LongType), ArrayType(BinaryType))

  /** TINYINT, SMALLINT, INT become BIGINT, an untyped NULL becomes `nullType`; the rest stays and is checked later. */
  def widen(argument: Expression, nullType: DataType): Expression = argument.dataType match {
    case ByteType | ShortType | IntegerType => Cast(argument, LongType)
    case NullType => Cast(argument, nullType)
    case _ => argument
  }
}

/** A serialisable function object for generated code. */
abstract class Op[A, B] extends JFunction[A, B] with Serializable

/** A question to one lineage value; NULL for NULL. */
abstract class LineageQuestion extends UnaryExpression with ExpectsInputTypes {
  protected def op: Op[Array[Byte], Any]

  override def inputTypes: Seq[AbstractDataType] = BinaryType :: Nil
  override def nullIntolerant: Boolean = true
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
abstract class LineageComparison extends BinaryExpression with ExpectsInputTypes {
  protected def op: Op[Array[AnyRef], Any]

  override def dataType: DataType = BooleanType
  override def nullIntolerant: Boolean = true
  override protected def nullSafeEval(a: Any, b: Any): Any = op(Array(a.asInstanceOf[AnyRef], b.asInstanceOf[AnyRef]))

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val function = ctx.addReferenceObj("op", op, classOf[JFunction[_, _]].getName)
    nullSafeCodeGen(ctx, ev, (a, b) => s"${ev.value} = (Boolean) $function.apply(new Object[]{$a, $b});")
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

/** A lineage value out of ids and lineage values; never NULL, NULL arguments are empty sets. */
abstract class LineageConstructor extends Expression with ExpectsInputTypes {
  protected def setting: Int
  override def dataType: DataType = BinaryType
  override def nullable: Boolean = false

  // The setting is not part of the SQL text.
  override def flatArguments: Iterator[Any] = children.iterator
  override def stringArgs: Iterator[Any] = children.iterator

  @transient private lazy val op = newOp

  private def newOp = new UnionOp(setting, children.map(_.dataType match {
    case ArrayType(LongType, _) => true
    case _ => false
  }).toArray)

  override def eval(row: InternalRow): Any = op(children.map(_.eval(row).asInstanceOf[AnyRef]).toArray)

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val function = ctx.addReferenceObj("op", newOp, classOf[JFunction[_, _]].getName)
    val arguments = ctx.freshName("arguments")
    val codes = children.map(_.genCode(ctx))
    val assignments = codes.zipWithIndex.map { case (code, i) =>
      code"""
         |${code.code}
         |if (!${code.isNull}) $arguments[$i] = ${code.value};
       """.stripMargin
    }
    val body = assignments.foldLeft(code"Object[] $arguments = new Object[${children.size}];")(_ + _)
    ev.copy(
      code = body + code"byte[] ${ev.value} = (byte[]) $function.apply($arguments);",
      isNull = org.apache.spark.sql.catalyst.expressions.codegen.FalseLiteral)
  }
}

/**
 * The union of boxed ids, byte arrays and lists of either, encoded as `setting` says.
 *
 * @param idLists which arguments are lists of ids; other lists are of lineage values
 */
final class UnionOp(setting: Int, idLists: Array[Boolean]) extends Op[Array[AnyRef], Array[Byte]] {
  // Rows of two threads may meet here; then both remember, and the later one stays.
  @transient @volatile private var last: RepeatedValue = _

  override def apply(arguments: Array[AnyRef]): Array[Byte] =
    if (arguments.length == 1 && arguments(0).isInstanceOf[java.lang.Long])
      LineageValues.single(arguments(0).asInstanceOf[Long], setting)
    else {
      val repeated = if (arguments.length > 1) cameBefore(longest(arguments)) else null
      if (repeated != null && arguments.forall(repeated.holds)) repeated.encoded else union(arguments)
    }

  private def union(arguments: Array[AnyRef]): Array[Byte] = {
    val state = new UnionState
    for (i <- arguments.indices) arguments(i) match {
      case null =>
      case id: java.lang.Long => state.addId(id)
      case list: ArrayData => addList(list, idLists(i), state)
      case value => state.addValue(value.asInstanceOf[Array[Byte]])
    }
    state.result(setting)
  }

  private def addList(list: ArrayData, ofIds: Boolean, state: UnionState): Unit =
    for (i <- 0 until list.numElements()) if (!list.isNullAt(i)) {
      if (ofIds) state.addId(list.getLong(i)) else state.addValue(list.getBinary(i))
    }

  private def longest(arguments: Array[AnyRef]): Array[Byte] = {
    var found: Array[Byte] = null
    for (argument <- arguments) argument match {
      case value: Array[Byte] if found == null || value.length > found.length => found = value
      case _ =>
    }
    found
  }

  /** What is known about these bytes, if the row before had them too; null at first sight. */
  private def cameBefore(value: Array[Byte]): RepeatedValue = {
    val known = last
    if (value == null || value.length < RepeatedValue.Least) null
    else if (known != null && java.util.Arrays.equals(known.bytes, value)) { if (known.isSmall) known else null }
    else {
      last = new RepeatedValue(value, setting)
      null
    }
  }
}

/**
 * A lineage value that comes row after row, as that of a subquery that is evaluated once for the whole query does. Under control
 * lineage the rest of a row's lineage is mostly part of it, and then the union is there already (TPC-H Q11: 32,077 ids in each of
 * 1,048 rows).
 */
final class RepeatedValue(val bytes: Array[Byte], setting: Int) {
  lazy val isSmall: Boolean = LineageValues.size(bytes) <= RepeatedValue.MostIds
  private lazy val ids = LineageValues.idArray(bytes)

  lazy val encoded: Array[Byte] = Encoding.encode(new SortedIds(ids, ids.length), setting)

  /** Whether an argument of dl_union adds nothing to this value; false also where it would take long to find out. */
  def holds(argument: AnyRef): Boolean = argument match {
    case null => true
    case id: java.lang.Long => has(id)
    case value: Array[Byte] =>
      java.util.Arrays.equals(value, bytes) ||
        value.length * RepeatedValue.MuchLonger <= bytes.length && LineageValues.idArray(value).forall(has)
    case _ => false
  }

  private def has(id: Long): Boolean = java.util.Arrays.binarySearch(ids, id) >= 0
}

object RepeatedValue {
  /** Bytes: shorter values are united as quickly as looked up. */
  val Least = 64

  /** Ids, 8 bytes each, that every use of dl_union may keep at hand. */
  val MostIds: Long = 1L << 22

  private val MuchLonger = 4
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
  override def inputTypes: Seq[AbstractDataType] = children.map(_ => Arguments.Lists)
  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): DlUnionAll =
    copy(children = newChildren)
}
