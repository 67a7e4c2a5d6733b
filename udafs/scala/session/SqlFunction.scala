package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry.FunctionBuilder
import org.apache.spark.sql.catalyst.expressions.{Expression, ExpressionInfo}

/** One SQL function: how many arguments, how it is built, and what DESCRIBE FUNCTION says. */
private final case class SqlFunction(
    name: String,
    arity: Option[Int], // None: one or more
    build: Seq[Expression] => Expression,
    implementation: Class[_],
    group: String,
    usage: String,
    examples: String) {

  def builder: FunctionBuilder = { arguments =>
    if (!arity.fold(arguments.nonEmpty)(_ == arguments.size)) {
      throw new AnalysisException(
        "WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
        Map(
          "functionName" -> s"`$name`",
          "expectedNum" -> arity.fold("> 0")(_.toString),
          "actualNum" -> arguments.size.toString,
          "docroot" -> "https://spark.apache.org/docs/latest"))
    }
    build(arguments)
  }

  def info: ExpressionInfo = new ExpressionInfo(
    implementation.getName, null, name, usage, "", s"\n    Examples:\n$examples  ", "", group, "", "", "scala_udf")
}
