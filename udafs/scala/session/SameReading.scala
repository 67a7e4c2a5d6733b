package org.apache.spark.sql.forwardlineage

import java.util.Objects

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.expressions.{Cast, ExprId}
import org.apache.spark.sql.catalyst.trees.TreeNode

import Sessions.SparkSession

/**
 * Whether Spark's parser makes one statement of two texts. Then all that Spark does with them is the same, and nothing has to be analysed or
 * optimised to know it.
 *
 * Trees are compared part by part, not by `==`: names get ids that are new at each reading, and a WITH keeps its queries aside. What is not
 * known to be the same counts as another statement, which may mean the same all the same.
 */
private object SameReading {
  private val furtherArguments = classOf[TreeNode[_]].getMethod("otherCopyArgs") // is protected

  def apply(session: SparkSession, one: String, other: String): Boolean =
    try isSame(session.sessionState.sqlParser.parsePlan(one), session.sessionState.sqlParser.parsePlan(other))
    catch { case NonFatal(_) => false } // whoever asks for its plan is told

  private def isSame(one: Any, other: Any): Boolean = (one, other) match {
    case (_: ExprId, _: ExprId) => true // nothing refers to one before names are resolved
    case (one: TreeNode[_], other: TreeNode[_]) =>
      isSameProduct(one, other) && isSame(further(one), further(other)) && asked(one) == asked(other)
    case (one: Seq[_], other: Seq[_]) => one.size == other.size && one.zip(other).forall((isSame _).tupled)
    case (one: Map[_, _], other: Map[_, _]) =>
      val there = other.asInstanceOf[Map[Any, Any]]
      one.size == there.size && one.forall { case (key, value) => there.get(key).exists(isSame(value, _)) }
    case (one: Product, other: Product) => isSameProduct(one, other)
    case _ => Objects.equals(one, other) // not `==`, to which 0.0 is -0.0
  }

  private def isSameProduct(one: Product, other: Product): Boolean =
    one.getClass == other.getClass && one.productArity == other.productArity &&
      one.productIterator.zip(other.productIterator).forall((isSame _).tupled)

  private def further(node: TreeNode[_]): Any = furtherArguments.invoke(node)

  /** The parser says of a cast that it is in the text, and Spark then treats it as such. */
  private def asked(node: TreeNode[_]): Boolean = node match {
    case cast: Cast => cast.getTagValue(Cast.USER_SPECIFIED_CAST).isDefined
    case _ => false
  }
}
