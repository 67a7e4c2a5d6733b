package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Expand, LogicalPlan}
import org.apache.spark.sql.types.{CalendarIntervalType, LongType}

/** Windows of time, read back from the arithmetic that Spark's analysis makes of them. */
private object TimeWindows {

  /** `window(…)`, of the windows that a time is in the latest: the time; how long it is, how far apart they are, where one begins, in µs. */
  object Fixed {
    def unapply(made: Expression): Option[(Expression, Seq[Long])] = made match {
      case StartAndEnd(FromMicros(start), FromMicros(Add(again, Literal(length: Long, _), _))) if start.semanticEquals(again) =>
        start match {
          case Subtract(Subtract(ToMicros(time), passed, _), Literal(0L, _), _) => passed.collectFirst {
              case Remainder(Subtract(_, Literal(begin: Long, _), _), Literal(apart: Long, _), _) => (time, Seq(length, apart, begin))
            }
          case _ => None
        }
      case _ => None
    }
  }

  /** `session_window(…)`: the time, and how long nothing happens before another one begins. */
  object Session {
    def unapply(made: Expression): Option[(Expression, Expression)] = made match {
      case StartAndEnd(FromMicros(ToMicros(time)), FromMicros(ToMicros(Sum(begin, after)))) if begin.semanticEquals(time) =>
        after match {
          case Cast(gap, CalendarIntervalType, _, _) => Some((time, gap))
          case gap => Some((time, gap))
        }
      case _ => None
    }
  }

  /** `window_time(…)`: the window. */
  object TimeOf {
    def unapply(made: Expression): Option[Expression] = made match {
      case FromMicros(Subtract(ToMicros(GetStructField(window: Attribute, 1, _)), Literal(1L, _), _)) => Some(window)
      case _ => None
    }
  }

  /** Rows that are copied once for each window that they may be in: the rows, and the columns then, the first of which is the window. */
  object Sliding {
    def unapply(expand: Expand): Option[(LogicalPlan, Seq[NamedExpression])] = {
      val isSliding = expand.output.headOption.exists(_.metadata.contains(TimeWindow.marker)) &&
        expand.output.drop(1).map(_.exprId) == expand.child.output.map(_.exprId)
      expand.projections.head.head match {
        case latest @ Fixed(_) if isSliding =>
          val window = Alias(latest, expand.output.head.name)(exprId = expand.output.head.exprId)
          Some((expand.child, window +: expand.child.output))
        case _ => None
      }
    }
  }

  /** A length of time as text, in the largest of a few units that it is a whole number of. */
  def written(micros: Long): String = {
    val (unit, name) = Seq(3600L * 1000000 -> "hours", 60L * 1000000 -> "minutes", 1000000L -> "seconds", 1L -> "microseconds")
      .find { case (unit, _) => micros % unit == 0 }.get
    s"'${micros / unit} $name'"
  }

  private object StartAndEnd {
    def unapply(made: Expression): Option[(Expression, Expression)] = made match {
      case CreateNamedStruct(Seq(Literal(_, _), start, Literal(_, _), end)) => Some((bare(start), bare(end)))
      case _ => None
    }

    private def bare(expression: Expression): Expression = expression match {
      case KnownNullable(inside) => inside
      case other => other
    }
  }

  /** A time and what is added to it; analysis casts it to the type that it has. */
  private object Sum {
    def unapply(made: Expression): Option[(Expression, Expression)] = made match {
      case Cast(inside, kind, _, _) if inside.dataType == kind => unapply(inside)
      case sum: BinaryExpression => Some((sum.left, sum.right))
      case _ => None
    }
  }

  private object ToMicros {
    def unapply(time: Expression): Option[Expression] = time match {
      case PreciseTimestampConversion(inside, _, LongType) => Some(inside)
      case _ => None
    }
  }

  private object FromMicros {
    def unapply(micros: Expression): Option[Expression] = micros match {
      case PreciseTimestampConversion(inside, LongType, _) => Some(inside)
      case _ => None
    }
  }
}
