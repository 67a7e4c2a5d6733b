package org.apache.spark.sql.forwardlineage

import java.security.MessageDigest

import org.apache.spark.sql.catalyst.analysis.FunctionRegistry.FunctionBuilder
import org.apache.spark.sql.catalyst.expressions._

import Sessions.SparkSession

/** Functions of the user's that a DataFrame carries in it: SQL calls functions by name, so each gets one in the session. */
final private class UsersFunctions(session: SparkSession) {

  /** The name of a function; functions that do the same have the same. */
  def nameOf(function: Expression): String = function match {
    case python: PythonUDF =>
      named(python.name, says(python))(children => python.copy(children = children, resultId = NamedExpression.newExprId))
    case python: PythonUDAF =>
      named(python.name, says(python))(children => python.copy(children = children, resultId = NamedExpression.newExprId))
    case scala: ScalaUDF if !scala.deterministic =>
      NotWritten.refuse("a function that is left to chance (sampleBy has one)", "Save these rows as a table, register it, and trace what is made of it.")
    case scala: ScalaUDF =>
      val identity = s"${System.identityHashCode(scala.function)} ${scala.function.getClass.getName} ${scala.dataType.json}"
      named(scala.name, Seq(identity.getBytes))(children => scala.copy(children = children))
    case table: PythonUDTF =>
      NotWritten.refuse(s"a table function of Python's, ${table.name}", "Write the query as SQL: lineage.sql(…); or register what it gives: lineage.register(name, source=frame).")
    case other =>
      NotWritten.refuse(s"the function ${other.prettyName}", "Register it with a name, and call it in SQL: lineage.sql(…).")
  }

  /** All that a call of a Python function does, but for its arguments. */
  private def says(call: PythonFuncExpression): Seq[Array[Byte]] =
    Seq(call.func.command.toArray, s"${call.evalType} ${call.dataType.json} ${call.udfDeterministic}".getBytes)

  private def named(name: String, says: Seq[Array[Byte]])(build: FunctionBuilder): String = {
    val digest = MessageDigest.getInstance("SHA-256")
    says.foreach(digest.update)
    val called = s"frame_${name.filter(each => each.isLetterOrDigit || each == '_')}_${digest.digest().take(6).map("%02x".format(_)).mkString}"
    val identifier = SessionFunctions.identifier(called)
    if (!session.sessionState.functionRegistry.functionExists(identifier)) {
      val info = new ExpressionInfo(build.getClass.getName, null, called, "A function of a DataFrame.", "", "", "", "", "", "", "python_udf")
      session.sessionState.functionRegistry.registerFunction(identifier, info, build)
    }
    called
  }
}
