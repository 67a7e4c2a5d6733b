package org.apache.spark.sql.forwardlineage

import java.util.concurrent.{Callable, ExecutionException, Executors, Future}

/** Requests to a file system that is far away, some at the same time. */
object AtOnce {
  val Most = 32 // threads

  /** The answers, in order; the first failure is thrown when no other request is under way any more. */
  def map[A, B](items: Seq[A])(ask: A => B): Seq[B] =
    if (items.lengthCompare(1) <= 0) items.map(ask)
    else {
      val pool = Executors.newFixedThreadPool(math.min(Most, items.size), thread)
      try {
        @volatile var failed = false
        val asked = items.map { item =>
          pool.submit(new Callable[Option[B]] {
            def call(): Option[B] = if (failed) None else try Some(ask(item)) catch { case e: Throwable => failed = true; throw e }
          })
        }
        answers(asked)
      } finally pool.shutdownNow()
    }

  private def answers[B](asked: Seq[Future[Option[B]]]): Seq[B] = {
    val found = asked.map(future => try Right(future.get) catch { case e: ExecutionException => Left(e.getCause) })
    found.collectFirst { case Left(cause) => throw cause }
    found.collect { case Right(Some(answer)) => answer }
  }

  private def thread(work: Runnable): Thread = {
    val made = new Thread(work, "forward_lineage-files")
    made.setDaemon(true)
    made
  }
}
