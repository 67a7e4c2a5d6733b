package org.apache.spark.sql.forwardlineage

import java.nio.charset.StandardCharsets.US_ASCII

import org.apache.spark.sql.catalyst.expressions.{Cast, Expression}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * A column of a filter: how values are compared with it, and their hashes, which are those of `forward_lineage.approximate.filters.hashing`.
 *
 * @param values `whole`, `float`, `decimal`, `text`, `day` or `truth`
 * @param width of a CHAR, to which a text is padded with blanks; 0: it is none
 */
final case class FilterColumn(name: String, values: String, width: Int) {

  /** A value as the column has it, as `=` would compare the two; a NULL without a type stays. */
  def compared(value: Expression): Expression = (values, value.dataType) match {
    case (_, NullType) => value
    case ("whole", _: IntegralType) => Cast(value, LongType)
    case ("float", _: NumericType) => Cast(value, DoubleType)
    case ("decimal", _: IntegralType) => Cast(value, DecimalType.LongDecimal)
    case ("decimal", _: DecimalType) | ("text", StringType) | ("day", DateType) | ("truth", BooleanType) => value
    case (_, other) => LineageErrors.refuse(s"$name has values of the kind $values, and ${value.sql} is a ${other.catalogString}. Cast it to the column's type.")
  }

  /** The hash of a value that `compared` made. */
  def hash(value: Any): Long = Blake2b.hash(value match {
    case whole: Long => text("i", whole.toString)
    case number: Double => ofDouble(number)
    case decimal: Decimal => text("n", ofDecimal(decimal.toJavaBigDecimal))
    case string: UTF8String => 's'.toByte +: padded(string).getBytes
    case day: Int => text("d", day.toString)
    case truth: Boolean => text("b", if (truth) "1" else "0")
  })

  private def text(tag: String, value: String): Array[Byte] = (tag + value).getBytes(US_ASCII)

  private def ofDouble(number: Double): Array[Byte] = {
    val bits = java.lang.Double.doubleToLongBits(number + 0.0d) // one NaN, and one zero
    'f'.toByte +: Array.tabulate(8)(i => (bits >>> (8 * i)).toByte)
  }

  private def ofDecimal(decimal: java.math.BigDecimal): String =
    if (decimal.signum == 0) "00e0"
    else {
      val short = decimal.stripTrailingZeros
      s"${if (short.signum < 0) 1 else 0}${short.unscaledValue.abs}e${-short.scale}"
    }

  private def padded(string: UTF8String): UTF8String =
    if (string.numChars < width) string.rpad(width, UTF8String.blankString(1)) else string
}
