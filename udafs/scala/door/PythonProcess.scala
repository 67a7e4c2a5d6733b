package org.apache.spark.sql.forwardlineage

import java.io.{BufferedReader, InputStreamReader, OutputStream}
import java.net.InetAddress
import java.nio.charset.StandardCharsets.UTF_8
import java.security.SecureRandom
import java.util.concurrent.TimeUnit

import scala.collection.mutable

import org.apache.spark.SparkContext
import org.json4s.{JBool, JInt, JObject, JString}
import org.json4s.jackson.JsonMethods.compact
import org.slf4j.LoggerFactory
import py4j.ClientServer

/**
 * A Python process of this application's own, which rewrites statements.
 *
 * It is told what is asked through its standard input, a line of JSON each. It asks Spark, and answers, through a gateway as
 * PySpark has one: on the loopback interface, with a secret that only this pipe carries. It ends when the pipe does, so with
 * this process, however that ends.
 */
private[sql] final class PythonProcess(context: SparkContext) {
  import PythonProcess._

  private val desk = new Desk(context)
  private val secret = newSecret()
  private val gateway = new ClientServer.ClientServerBuilder(desk)
    .authToken(secret).javaPort(0).javaAddress(InetAddress.getLoopbackAddress).build()
  private val last = mutable.Queue.empty[String]
  @volatile private var over: Option[PythonEnded] = None

  val interpreter: String = interpreterOf(context)
  // Threads are daemons if the one is that begins them: an application that does not stop its context still ends.
  inBackground("forward_lineage: gateway")(gateway.startServer()).join()
  private val process: Process =
    try started(interpreter)
    catch { case error: Throwable => gateway.shutdown(); throw error }
  private val input: OutputStream = process.getOutputStream
  private val reader = inBackground("forward_lineage: what Python says")(listen())
  process.onExit().thenRun(() => ended())
  say(JObject("port" -> JInt(gateway.getJavaServer.getListeningPort), "secret" -> JString(secret)))

  def isAlive: Boolean = over.isEmpty && process.isAlive

  /** Whether it ever got as far as to know this Spark. */
  def greeted: Boolean = desk.greeted

  /**
   * Waits for what Python says of a statement.
   *
   * Fails with PythonEnded, a TimeoutException after so many seconds, or an InterruptedException when whoever asked is told to stop.
   */
  def ask(asked: Asked, seconds: Long): Answer = {
    val number = desk.put(asked)
    try {
      over.foreach(throw _)
      say(JObject(
        "id" -> JInt(number),
        "session" -> JString(asked.session.sessionUUID),
        "text" -> JString(asked.text),
        "only_whether" -> JBool(asked.onlyWhether)))
      asked.answer.get(seconds, TimeUnit.SECONDS)
    } catch {
      case failed: java.util.concurrent.ExecutionException => throw failed.getCause
    } finally desk.remove(number)
  }

  /** Ends it: it goes by itself when its input ends, and is killed if it does not. */
  def close(): Unit = {
    try input.close() catch { case _: java.io.IOException => () }
    inBackground("forward_lineage: waiting for Python to go") {
      if (!process.waitFor(Patience, TimeUnit.SECONDS)) process.destroyForcibly()
      ()
    }
  }

  private def say(line: JObject): Unit = synchronized {
    try {
      input.write((compact(line) + "\n").getBytes(UTF_8))
      input.flush()
    } catch { case _: java.io.IOException => () } // it has ended, which is told to those who wait
  }

  private def listen(): Unit = {
    val lines = new BufferedReader(new InputStreamReader(process.getInputStream, UTF_8))
    var line = lines.readLine()
    while (line != null) {
      log.warn(line)
      last.synchronized {
        last.enqueue(line)
        if (last.size > Kept) last.dequeue()
      }
      line = lines.readLine()
    }
  }

  private def ended(): Unit = {
    reader.join(TimeUnit.SECONDS.toMillis(1)) // a grandchild may keep the pipe
    val said = last.synchronized(last.filter(_.trim.nonEmpty).lastOption).fold("")(line => s": ${line.trim}")
    val reason = new PythonEnded(s"$interpreter has ended with code ${process.exitValue}$said")
    over = Some(reason)
    desk.close(reason)
    gateway.shutdown()
  }
}

private[sql] object PythonProcess {
  private val Module = "forward_lineage.door"
  private val Kept = 20 // lines of what it said
  private val Patience = 10 // seconds
  private val SecretBytes = 32
  private val log = LoggerFactory.getLogger("forward_lineage.door")

  /** Of a client of Spark Connect, of this process's own Python: they would lead the new one elsewhere. */
  private val NotForIt = Seq(
    "SPARK_REMOTE", "SPARK_LOCAL_REMOTE", "SPARK_CONNECT_MODE", "SPARK_CONNECT_MODE_ENABLED", "SPARK_API_MODE",
    "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET", "_PYSPARK_DRIVER_CONN_INFO_PATH", "PYTHONSTARTUP", "PYTHONINSPECT")

  /**
   * The interpreter, as the application was started with: a client that may SET what it likes has no say in it.
   */
  private def interpreterOf(context: SparkContext): String =
    Seq("spark.forward_lineage.python", "spark.pyspark.driver.python", "spark.pyspark.python")
      .flatMap(context.getConf.getOption(_))
      .headOption
      .orElse(sys.env.get("PYSPARK_PYTHON"))
      .filter(_.nonEmpty)
      .getOrElse("python3")

  /** No shell; -P: what lies in the folder where Spark was started is not imported. */
  private def started(interpreter: String): Process = {
    val builder = new ProcessBuilder(interpreter, "-P", "-m", Module).redirectErrorStream(true)
    NotForIt.foreach(builder.environment.remove(_))
    builder.environment.put("PYSPARK_PIN_THREAD", "true") // a thread there is a thread here: each has its active session
    builder.environment.put("PYTHONIOENCODING", "utf-8")
    try builder.start()
    catch { case error: java.io.IOException => throw new PythonEnded(s"$interpreter cannot be started: ${error.getMessage}") }
  }

  private def newSecret(): String = {
    val bytes = new Array[Byte](SecretBytes)
    new SecureRandom().nextBytes(bytes)
    bytes.map("%02x".format(_)).mkString
  }

  private def inBackground(name: String)(work: => Unit): Thread = {
    val thread = new Thread(() => work, name)
    thread.setDaemon(true)
    thread.start()
    thread
  }
}
