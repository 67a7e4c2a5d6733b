package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.analysis.{Resolver, Star, UnresolvedAttribute, UnresolvedStar}
import org.apache.spark.sql.catalyst.expressions.{AttributeSeq, Expression, Literal, NamedExpression, Unevaluable}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.types.StringType

/**
 * dl_star_except('t.*', 'a', 't.b'): what `t.* EXCEPT (a, t.b)` is from 4.0 on.
 *
 * A function in text; a star as soon as its name is resolved, which Spark then expands where it stands, as it does its own: in the select
 * list, in `struct(…)`, in `count(DISTINCT …)`.
 */
private[forwardlineage] object StarExcept {
  val function: Option[Seq[Expression] => Expression] = Some { arguments =>
    val Seq(star, columns @ _*) = arguments.map(text)
    val table = star.stripSuffix("*").stripSuffix(".")
    ExceptingStar(if (table.isEmpty) None else Some(parts(table)), columns.map(parts))
  }

  private def text(argument: Expression): String = argument match {
    case Literal(value, StringType) if value != null => value.toString
    case _ => LineageErrors.refuse("dl_star_except takes string literals: a star and the columns that it leaves out.")
  }

  private def parts(name: String): Seq[String] = UnresolvedAttribute.parseAttributeName(name)
}

/** The columns that are left out are looked for among those of the star, as from 4.0 on. */
private[forwardlineage] case class ExceptingStar(table: Option[Seq[String]], columns: Seq[Seq[String]]) extends Star with Unevaluable {
  override def expand(input: LogicalPlan, resolver: Resolver): Seq[NamedExpression] = {
    val all = UnresolvedStar(table).expand(input, resolver)
    val known: AttributeSeq = all.map(_.toAttribute)
    val out = columns.map(column => known.resolve(column, resolver).getOrElse(
      LineageErrors.refuse(s"dl_star_except leaves out ${column.mkString(".")}, which is no column of the star.")).exprId).toSet
    all.filterNot(column => out(column.exprId))
  }
}
