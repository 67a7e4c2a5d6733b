package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, Nondeterministic, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.types.{BinaryType, DataType}

/**
 * The last lineage value that is not NULL, up to this row of its partition: what a function of Python's gives is made of one set for
 * many rows, and the set comes out of Python with the first of them alone.
 *
 * It stands right above that function, where rows come one behind the other as they were given. Spark is told that it is chance, so
 * that no filter goes below it.
 */
case class LastGiven(child: Expression) extends UnaryExpression with Nondeterministic with CodegenFallback {
  @transient private var last: Array[Byte] = _

  override def prettyName: String = "dl_last_given"
  override def dataType: DataType = BinaryType
  override def nullable: Boolean = false
  override def stateful: Boolean = true

  override protected def initializeInternal(partitionIndex: Int): Unit = last = null

  override protected def evalInternal(row: InternalRow): Any = {
    val value = child.eval(row).asInstanceOf[Array[Byte]]
    if (value != null) last = value
    else if (last == null) LineageErrors.refuse("Rows of a function of Python's came without their lineage. Please report this: it is a bug of ours.")
    last
  }

  override protected def withNewChildInternal(newChild: Expression): LastGiven = copy(child = newChild)
}
