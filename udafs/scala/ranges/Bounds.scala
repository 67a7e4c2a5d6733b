package org.apache.spark.sql.forwardlineage

import java.io.{ByteArrayInputStream, IOException}
import java.math.BigInteger
import java.nio.ByteBuffer
import java.util.Arrays
import java.util.zip.InflaterInputStream

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * Where the ranges of a column begin: ascending, distinct. `forward_lineage/columns/ranges.py` says what they mean, and packs them.
 *
 * Values are compared as keys (`Keys`): whole numbers where their type has a fixed width, else objects that know their order.
 *
 * Two are equal whose bounds are: so that what a text says twice Spark computes once.
 */
sealed abstract class Bounds extends Serializable {
  def size: Int
  def takes(typed: DataType): Boolean

  /** How many bounds are at or before a key. */
  def behind(key: Any): Int

  def apply(place: Int): Any

  /** Those at some places. */
  def at(places: Array[Int]): Bounds
}

final class WholeBounds(private[forwardlineage] val values: Array[Long]) extends Bounds {
  override def size: Int = values.length
  override def takes(typed: DataType): Boolean = Keys.isWhole(typed)
  override def behind(key: Any): Int = count(key.asInstanceOf[Long])
  override def apply(place: Int): Any = values(place)
  override def at(places: Array[Int]): Bounds = new WholeBounds(places.map(values(_)))

  @transient override lazy val hashCode: Int = Arrays.hashCode(values)
  override def equals(other: Any): Boolean = other match {
    case that: WholeBounds => (this eq that) || (hashCode == that.hashCode && Arrays.equals(values, that.values))
    case _ => false
  }

  def count(key: Long): Int = {
    val found = Arrays.binarySearch(values, key)
    if (found >= 0) found + 1 else -found - 1
  }
}

final class OrderedBounds(private[forwardlineage] val values: Array[AnyRef], strings: Boolean) extends Bounds {
  override def size: Int = values.length
  override def takes(typed: DataType): Boolean = if (strings) typed == StringType else Keys.isLongDecimal(typed)
  override def behind(key: Any): Int = {
    val found = Arrays.binarySearch(values, key.asInstanceOf[AnyRef])
    if (found >= 0) found + 1 else -found - 1
  }
  override def apply(place: Int): Any = values(place)
  override def at(places: Array[Int]): Bounds = new OrderedBounds(places.map(values(_)), strings)

  @transient override lazy val hashCode: Int = Arrays.hashCode(values)
  override def equals(other: Any): Boolean = other match {
    case that: OrderedBounds => (this eq that) || (hashCode == that.hashCode && Arrays.equals(values, that.values))
    case _ => false
  }
}

object Bounds {

  /** Those that a BINARY literal says. */
  def of(literal: Expression, function: String): Bounds = of(bytes(literal, function), function)

  def bytes(literal: Expression, function: String): Array[Byte] =
    if (literal.foldable && literal.dataType == BinaryType && literal.eval() != null) literal.eval().asInstanceOf[Array[Byte]]
    else LineageErrors.refuse(s"$function needs its ranges as BINARY literals.")

  def of(packed: Array[Byte], function: String): Bounds = {
    def damaged: Nothing = LineageErrors.refuse(s"$function: these are no bounds of ranges.")
    if (packed.isEmpty) damaged
    val read =
      try new InflaterInputStream(new ByteArrayInputStream(packed, 1, packed.length - 1)).readAllBytes()
      catch { case _: IOException => damaged }
    val values = ByteBuffer.wrap(read)
    packed(0) match {
      case 'l' if read.length % 8 == 0 =>
        var before = 0L
        new WholeBounds(Array.fill(read.length / 8) { before += values.getLong; before })
      case 's' => new OrderedBounds(measured(values, damaged).map(UTF8String.fromBytes(_): AnyRef), strings = true)
      case 'd' => new OrderedBounds(measured(values, damaged).map(new BigInteger(_): AnyRef), strings = false)
      case _ => damaged
    }
  }

  private def measured(bytes: ByteBuffer, damaged: => Nothing): Array[Array[Byte]] = {
    val found = ArrayBuffer.empty[Array[Byte]]
    while (bytes.hasRemaining) {
      val length = if (bytes.remaining < 4) -1 else bytes.getInt
      if (length < 0 || length > bytes.remaining) damaged
      val value = new Array[Byte](length)
      bytes.get(value)
      found += value
    }
    found.toArray
  }
}

/** Values as keys, in Spark's order: NaN behind all numbers, -0.0 and 0.0 one value, strings by their bytes. */
object Keys {
  def isWhole(typed: DataType): Boolean = typed match {
    case ByteType | ShortType | IntegerType | LongType | DateType | TimestampType | TimestampNTZType | FloatType | DoubleType => true
    case decimal: DecimalType => decimal.precision <= Decimal.MAX_LONG_DIGITS
    case _ => false
  }

  def isLongDecimal(typed: DataType): Boolean = typed match {
    case decimal: DecimalType => decimal.precision > Decimal.MAX_LONG_DIGITS
    case _ => false
  }

  def of(typed: DataType, value: Any): Any = typed match {
    case FloatType => ofDouble(value.asInstanceOf[Float].toDouble)
    case DoubleType => ofDouble(value.asInstanceOf[Double])
    case decimal: DecimalType if isLongDecimal(decimal) => value.asInstanceOf[Decimal].toJavaBigDecimal.unscaledValue
    case _: DecimalType => value.asInstanceOf[Decimal].toUnscaledLong
    case StringType => value
    case _ => value.asInstanceOf[Number].longValue
  }

  /** The value that has a key; one of them. */
  def value(typed: DataType, key: Any): Any = (typed, key) match {
    case (FloatType, bits: Long) => toDouble(bits).toFloat
    case (DoubleType, bits: Long) => toDouble(bits)
    case (decimal: DecimalType, digits: BigInteger) =>
      Decimal(new java.math.BigDecimal(digits, decimal.scale), decimal.precision, decimal.scale)
    case (decimal: DecimalType, digits: Long) => Decimal(digits, decimal.precision, decimal.scale)
    case (ByteType, number: Long) => number.toByte
    case (ShortType, number: Long) => number.toShort
    case (IntegerType | DateType, number: Long) => number.toInt
    case _ => key
  }

  private def toDouble(key: Long): Double = java.lang.Double.longBitsToDouble(if (key < 0) key ^ Long.MaxValue else key)

  def ofDouble(value: Double): Long = {
    val bits = java.lang.Double.doubleToLongBits(value + 0.0d)
    if (bits < 0) bits ^ Long.MaxValue else bits
  }

  /** The key of a value in generated code; strings and long decimals are objects. */
  def code(typed: DataType, value: String): String = typed match {
    case FloatType | DoubleType =>
      val bits = s"Double.doubleToLongBits((double) $value + 0.0d)"
      s"($bits < 0L ? $bits ^ 0x7fffffffffffffffL : $bits)"
    case decimal: DecimalType if isLongDecimal(decimal) => s"$value.toJavaBigDecimal().unscaledValue()"
    case _: DecimalType => s"$value.toUnscaledLong()"
    case StringType => value
    case _ => s"((long) $value)"
  }
}
