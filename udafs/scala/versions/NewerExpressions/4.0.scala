package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions.{
  Between, Collate, CommonExpressionRef, CreateMap, Expression, Literal, RaiseError, ResolvedCollation, SchemaOfXml, SortOrder, StructsToXml, With,
  XmlToStructs}
import org.apache.spark.sql.catalyst.expressions.aggregate.{ListAgg, Mode}
import org.apache.spark.sql.catalyst.expressions.variant.VariantGet
import org.apache.spark.sql.types.{DataType, VariantType}

/** Expressions that Spark has from 4.0 on. */
private[forwardlineage] object NewerExpressions {

  /** One with parts that it shares, with these in every place where they are used. */
  object Shared {
    def unapply(expression: Expression): Option[Expression] = expression match {
      case With(inside, shared) =>
        Some(inside.transform { case use: CommonExpressionRef => shared.find(_.id == use.id).fold[Expression](use)(_.child) })
      case _ => None
    }
  }

  /** BETWEEN: the value, and the bounds. */
  object Range {
    def unapply(expression: Expression): Option[(Expression, Expression, Expression)] = expression match {
      case between: Between => Some((between.parameters.head, between.parameters(1), between.parameters(2)))
      case _ => None
    }
  }

  /** `raise_error` of a text of the user's. */
  object Raised {
    def unapply(expression: Expression): Option[Expression] = expression match {
      case RaiseError(Literal(kind, _), CreateMap(Seq(_, message), _), _) if s"$kind" == "USER_RAISED_EXCEPTION" => Some(message)
      case _ => None
    }
  }

  /** `mode` that takes the least of several values, told so by a second argument. */
  object LeastMode {
    def unapply(called: Expression): Option[Expression] = called match {
      case mode: Mode if mode.reverseOpt.contains(true) => Some(mode.child)
      case _ => None
    }
  }

  /** `listagg`: of what, what stands between the values, their order. */
  object ListAggregated {
    def unapply(called: Expression): Option[(Expression, Expression, Seq[SortOrder])] = called match {
      case list: ListAgg => Some((list.child, list.delimiter, list.orderExpressions))
      case _ => None
    }
  }

  /** `variant_get` and `try_variant_get`: the function, of what, where in it, and which type that has, if it is not VARIANT. */
  object VariantRead {
    def unapply(expression: Expression): Option[(String, Expression, Expression, Option[DataType])] = expression match {
      case read: VariantGet =>
        val name = if (read.failOnError) "variant_get" else "try_variant_get"
        Some((name, read.child, read.path, Some(read.targetType).filter(_ != VariantType)))
      case _ => None
    }
  }

  /** A text with a collation. */
  object Collated {
    def unapply(expression: Expression): Option[(Expression, String)] = expression match {
      case Collate(value, ResolvedCollation(name)) => Some((value, name))
      case _ => None
    }
  }

  /** XML read or made: the function, of what, the schema that is read, the options. */
  object Xml {
    def unapply(expression: Expression): Option[(String, Expression, Option[DataType], Map[String, String])] = expression match {
      case read: XmlToStructs => Some(("from_xml", read.child, Some(read.schema), read.options))
      case made: StructsToXml => Some(("to_xml", made.child, None, made.options))
      case told: SchemaOfXml => Some(("schema_of_xml", told.child, None, told.options))
      case _ => None
    }
  }
}
