package org.apache.spark

import org.apache.spark.util.CallSite

/** Spark's context without two things that cost each job much and give a test nothing.
  *
  * The cleaner of closures reads the class file of each operator again for each job. Of compiled code it changes
  * nothing: it looks for `return` in closures and clears what lines typed into the Scala shell refer to. Whether a
  * closure can be sent, Spark sees when it sends it.
  *
  * For each operator the stack is searched for the line of a program that asked; only Spark's own pages name it.
  */
class TestContext(conf: SparkConf) extends SparkContext(conf) {
  override private[spark] def clean[F <: AnyRef](closure: F, checkSerializable: Boolean): F = closure

  override private[spark] def getCallSite(): CallSite = TestContext.nowhere
}

object TestContext {
  private val nowhere = CallSite("test", "test")
}
