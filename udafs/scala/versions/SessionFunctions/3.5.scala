package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.FunctionIdentifier

/** Where Spark keeps the temporary functions of a session: up to 4.1 in no catalog. */
private[forwardlineage] object SessionFunctions {
  def identifier(name: String): FunctionIdentifier = FunctionIdentifier(name)
}
