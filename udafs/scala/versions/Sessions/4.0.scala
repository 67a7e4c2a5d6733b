package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.classic

/** The classes of sessions that have a plan: from 4.0 on those in `classic`, beside them those of Spark Connect's clients. */
object Sessions {
  type SparkSession = classic.SparkSession
  type Dataset[T] = classic.Dataset[T]
  val SparkSession: classic.SparkSession.type = classic.SparkSession
  val Dataset: classic.Dataset.type = classic.Dataset
}
