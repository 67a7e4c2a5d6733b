package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.catalyst.util.IntervalUtils
import org.apache.spark.sql.types.{CalendarIntervalType, StringType}
import org.apache.spark.unsafe.types.{CalendarInterval, UTF8String}

/**
 * dl_calendar_interval('11 minutes'): an interval as `session_window` of a DataFrame has it in 3.5, where it reads its text itself.
 *
 * SQL has none: INTERVAL '11' MINUTE is of another type there.
 */
private[forwardlineage] object CalendarIntervals {
  private val Name = "dl_calendar_interval"

  val function: Option[Seq[Expression] => Expression] = Some {
    case Seq(Literal(text: UTF8String, StringType)) => Literal(IntervalUtils.stringToInterval(text), CalendarIntervalType)
    case _ => LineageErrors.refuse(s"$Name takes a string literal, an interval.")
  }

  object Written {
    def unapply(expression: Expression): Option[String] = expression match {
      case Literal(interval: CalendarInterval, CalendarIntervalType) => Some(s"$Name('$interval')")
      case _ => None
    }
  }
}
