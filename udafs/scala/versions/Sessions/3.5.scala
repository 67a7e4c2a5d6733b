package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql

/** The classes of sessions: in 3.5 there is but one kind. */
object Sessions {
  type SparkSession = sql.SparkSession
  type Dataset[T] = sql.Dataset[T]
  val SparkSession: sql.SparkSession.type = sql.SparkSession
  val Dataset: sql.Dataset.type = sql.Dataset
}
