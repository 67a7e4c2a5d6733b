package org.apache.spark

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.catalyst.rules
import org.apache.spark.util.CallSite

/** Spark's context without four things that cost each job much and give a test nothing.
  *
  * The cleaner of closures reads the class file of each operator again for each job. Of compiled code it changes
  * nothing: it looks for `return` in closures and clears what lines typed into the Scala shell refer to. Whether a
  * closure can be sent, Spark sees when it sends it.
  *
  * For each operator the stack is searched for the line of a program that asked; only Spark's own pages name it.
  *
  * Each scan copies Hadoop's settings and sends them. Two thirds of 1,100 are defaults of services that no test starts.
  *
  * Before and after each set of rules, what all rules took since Spark began is added up.
  */
class TestContext(conf: SparkConf) extends SparkContext(conf) {
  rules.Unmetered.install()

  private val settings = TestContext.ofFiles(super.hadoopConfiguration)

  // Spark asks while this context is still being made.
  override def hadoopConfiguration: Configuration = if (settings == null) super.hadoopConfiguration else settings

  override private[spark] def clean[F <: AnyRef](closure: F, checkSerializable: Boolean): F = closure

  override private[spark] def getCallSite(): CallSite = TestContext.nowhere
}

object TestContext {
  private val nowhere = CallSite("test", "test")
  private val services = Seq("yarn.", "mapreduce.job", "mapreduce.task.", "mapreduce.map.", "mapreduce.reduce.",
    "mapreduce.shuffle.", "ipc.", "ha.", "hadoop.http.", "hadoop.registry.")

  /** Settings without those of services, and without files of defaults that would bring them back. */
  private def ofFiles(all: Configuration): Configuration = {
    val kept = new Configuration(false)
    all.forEach { each =>
      if (!services.exists(each.getKey.startsWith)) kept.set(each.getKey, each.getValue, "defaults")
    }
    kept
  }
}
