package org.apache.spark.sql.forwardlineage

import java.util.function.{Function => JFunction}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** A question to a filter, whose answer "no" is proven. Of literals alone Spark answers it before it reads anything. */
abstract class FilterQuestion extends Expression with Predicate {
  protected def folder: FilterFolder
  protected def op: Op[Array[AnyRef], AnyRef]

  override def nullable: Boolean = false
  override def foldable: Boolean = children.forall(_.foldable)
  override def flatArguments: Iterator[Any] = children.iterator
  override def stringArgs: Iterator[Any] = Iterator(folder.folder) ++ children.iterator

  @transient private lazy val asked = op

  override def eval(row: InternalRow): Any = asked(children.map(_.eval(row).asInstanceOf[AnyRef]).toArray)

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val function = ctx.addReferenceObj("filter", op, classOf[JFunction[_, _]].getName)
    val (arguments, body) = Arguments.gathered(children, ctx)
    ev.copy(code = body + code"boolean ${ev.value} = (Boolean) $function.apply($arguments);", isNull = FalseLiteral)
  }
}

/** dl_may_occur(filter, value, …): whether the tuple may occur in the table; NULL stands for any value. */
case class DlMayOccur(children: Seq[Expression], folder: FilterFolder) extends FilterQuestion {
  override def prettyName: String = "dl_may_occur"
  override protected def op: Op[Array[AnyRef], AnyRef] = new MayOccurOp(folder)
  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): DlMayOccur = copy(children = newChildren)
}

object DlMayOccur {
  def of(arguments: Seq[Expression]): DlMayOccur = {
    val folder = FilterFolder.of(arguments.head, "dl_may_occur")
    DlMayOccur(compared(folder, arguments.tail, "dl_may_occur"), folder)
  }

  def compared(folder: FilterFolder, values: Seq[Expression], function: String): Seq[Expression] = {
    if (values.size != folder.columns.size)
      LineageErrors.refuse(s"$function takes a value for each column of the filter, ${folder.columns.map(_.name).mkString(", ")}; NULL stands for any.")
    folder.columns.zip(values).map { case (column, value) => column.compared(value) }
  }
}

/** dl_may_be_in(filter, _metadata, value, …): whether the tuple may occur in a file; true of a file that is not as the filter knows it. */
case class DlMayBeIn(children: Seq[Expression], folder: FilterFolder) extends FilterQuestion {
  override def prettyName: String = "dl_may_be_in"
  override protected def op: Op[Array[AnyRef], AnyRef] = new MayBeInOp(folder)
  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): DlMayBeIn = copy(children = newChildren)
}

object DlMayBeIn {
  private[forwardlineage] val Fields = Seq("file_path", "file_size", "file_modification_time")

  def of(arguments: Seq[Expression]): DlMayBeIn = {
    val folder = FilterFolder.of(arguments.head, "dl_may_be_in")
    val file = arguments.lift(1).map(metadata => (metadata, metadata.dataType)) match {
      case Some((metadata, struct: StructType)) if Fields.forall(struct.fieldNames.contains) =>
        Fields.map(name => GetStructField(metadata, struct.fieldIndex(name), Some(name)))
      case _ => LineageErrors.refuse("dl_may_be_in needs the _metadata of a scan of files behind the filter.")
    }
    DlMayBeIn(file ++ DlMayOccur.compared(folder, arguments.drop(2), "dl_may_be_in"), folder)
  }
}

/** The tuple of some values: their hashes, and whether each is given. */
private final class AskedTuple(columns: Seq[FilterColumn], values: Array[AnyRef], from: Int) {
  val given: Array[Boolean] = Array.tabulate(columns.size)(place => values(from + place) != null)
  val hashes: Array[Long] = Array.tabulate(columns.size)(place => if (given(place)) columns(place).hash(values(from + place)) else 0L)
}

private final class MayOccurOp(folder: FilterFolder) extends Op[Array[AnyRef], AnyRef] {
  @transient private lazy val filters = folder.filters

  override def apply(values: Array[AnyRef]): AnyRef = {
    val tuple = new AskedTuple(folder.columns, values, 0)
    Boolean.box(filters.tuples.mayOccur(tuple.hashes, tuple.given))
  }
}

private final class MayBeInOp(folder: FilterFolder) extends Op[Array[AnyRef], AnyRef] {
  private val file = DlMayBeIn.Fields.size
  @transient private lazy val filters = folder.filters

  override def apply(values: Array[AnyRef]): AnyRef = Boolean.box(filters.files.get(values(0).asInstanceOf[UTF8String].toString) match {
    case Some(known) if known.size == values(1) && known.modifiedMillis == values(2).asInstanceOf[Long] / 1000 =>
      val tuple = new AskedTuple(folder.columns, values, file)
      filters.tuples.mayOccur(tuple.hashes, tuple.given) && filters.ofFiles.forall(_.mayHave(known.number, tuple.hashes, tuple.given))
    case _ => true
  })
}
