package org.apache.spark

/** Spark's context without its cleaner of closures, which reads the class file of each operator again for each job.
  *
  * Of compiled code it changes nothing: it looks for `return` in them, which Scala's compiler has refused since, and
  * clears what lines typed into the Scala shell refer to. Whether a closure can be sent, Spark sees when it sends it.
  */
class TestContext(conf: SparkConf) extends SparkContext(conf) {
  override private[spark] def clean[F <: AnyRef](closure: F, checkSerializable: Boolean): F = closure
}
