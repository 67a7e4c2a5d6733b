package forwardlineage

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.forwardlineage.{LineageParser, Registry, Sessions}

import Sessions.SparkSession

// Everything else stands in org.apache.spark.sql.forwardlineage: Catalyst keeps the types of function arguments and the
// classes of its errors private to org.apache.spark.

/** `new Kernel().attach(session)`: for callers that have reflection only. */
final class Kernel {
  def attach(session: SparkSession): Unit = Registry.attach(session)
}

/** For `spark-sql --jars kernel.jar --conf spark.sql.extensions=forwardlineage.LineageExtensions` and for servers. */
final class LineageExtensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    Registry.inject(extensions)
    extensions.injectParser(LineageParser(_, _))
  }
}
