package org.apache.spark.sql.catalyst.rules

import java.lang.reflect.Modifier

import sun.misc.Unsafe

/** What Spark notes of each rule that it applies, left out: how often, how long. */
class Unmetered extends QueryExecutionMetering {
  private val none = super.getMetrics()

  override def getMetrics(): QueryExecutionMetrics = none
  override def incExecutionTimeBy(ruleName: String, delta: Long): Unit = ()
  override def incTimeEffectiveExecutionBy(ruleName: String, delta: Long): Unit = ()
  override def incNumEffectiveExecution(ruleName: String): Unit = ()
  override def incNumExecution(ruleName: String): Unit = ()
}

object Unmetered {

  /** Put it in the place of Spark's, a constant that only `Unsafe` can set; before a rule was applied. */
  def install(): Unit = {
    val field = classOf[Unsafe].getDeclaredField("theUnsafe")
    field.setAccessible(true)
    val unsafe = field.get(null).asInstanceOf[Unsafe]
    val place = RuleExecutor.getClass.getDeclaredField("queryExecutionMeter")
    val (owner, offset) =
      if (Modifier.isStatic(place.getModifiers)) (unsafe.staticFieldBase(place), unsafe.staticFieldOffset(place))
      else (RuleExecutor, unsafe.objectFieldOffset(place)) // Scala 2.12, of Spark 3.5
    unsafe.putObject(owner, offset, new Unmetered)
  }
}
