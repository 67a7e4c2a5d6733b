package org.apache.spark.sql.forwardlineage

import java.util.Locale

import org.apache.spark.{SparkContext, SparkEnv, TaskContext}
import org.apache.spark.memory.{MemoryConsumer, MemoryMode}

/**
 * The memory of a relation while a task collects it. It is asked of Spark before it is taken: what sorts or hashes beside it spills,
 * and where there is not enough the query fails with one message, and the JVM lives on.
 */
private final class StageMemory {
  private val consumer = Option(TaskContext.get()).map { task =>
    val made = new MemoryConsumer(task.taskMemoryManager(), MemoryMode.ON_HEAP) {
      override def spill(size: Long, trigger: MemoryConsumer): Long = 0 // a relation is looked up as a whole
    }
    task.addTaskCompletionListener[Unit](_ => made.freeMemory(made.getUsed))
    made
  }

  def release(): Unit = consumer.foreach(memory => memory.freeMemory(memory.getUsed))

  /** Takes memory until there are so many bytes in all. */
  def hold(bytes: Long): Unit = consumer.foreach { memory =>
    val more = bytes - memory.getUsed
    if (more > 0 && memory.acquireMemory(more) < more)
      StageMemory.refuse(bytes, "to collect, more than Spark has left for the task")
  }
}

private object StageMemory {

  /**
   * Refuses a relation, copies of which fill the memory of the driver or of an executor: the driver has it from a task, writes it
   * into the next tasks, and each of these reads one of its own.
   */
  def checkCopies(relation: Long): Unit = Option(SparkEnv.get).foreach { env =>
    val heap = Runtime.getRuntime.maxMemory
    if (env.executorId == SparkContext.DRIVER_IDENTIFIER)
      check(relation, InDriver + threads(env), heap, "spark.driver.memory")
    else {
      check(relation, InDriver, env.conf.getSizeAsBytes("spark.driver.memory", "1g"), "spark.driver.memory")
      check(relation, InExecutor + threads(env), heap, "spark.executor.memory")
    }
  }

  private def check(relation: Long, copies: Int, memory: Long, setting: String): Unit =
    if (relation * copies > memory / 10 * 9)
      refuse(relation * copies, s"in $copies copies on its way to the tasks that look it up, too much for the ${shown(memory)} of $setting")

  private def threads(env: SparkEnv): Int =
    if (env.executorId == SparkContext.DRIVER_IDENTIFIER) SparkContext.numDriverCores(env.conf.get("spark.master", "local"))
    else env.conf.getInt("spark.executor.cores", Runtime.getRuntime.availableProcessors)

  // As many as may be alive at once, counted from Spark's code: a value, a stream that grows, and the blocks of a broadcast.
  private val InDriver = 4
  private val InExecutor = 2

  def noHeap(bytes: Long): String = said(bytes, "to collect, more than the heap has left")

  private def refuse(bytes: Long, why: String): Nothing = throw new StageRefused(said(bytes, why))

  def refuse(what: String): Nothing = throw new StageRefused(s"$what. $Instead")

  private def said(bytes: Long, why: String): String = s"the lineage of a stage takes ${shown(bytes)} $why. $Instead"

  val Instead: String = "Save the inner query as a result and query that, or SET spark.forward_lineage.by_reference = false," +
    " or give spark.driver.memory and spark.executor.memory more."

  private def shown(bytes: Long): String = String.format(Locale.ROOT, "%.0f MiB", Double.box(math.ceil(bytes / 1048576.0)))
}

/** A relation is given up. It says why in place of its rows (`RelationBytes.refused`): what looks a row up fails with the message. */
private final class StageRefused(message: String) extends RuntimeException(message, null, false, false)
