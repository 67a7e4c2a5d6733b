package org.apache.spark.sql.forwardlineage

import java.security.MessageDigest

import org.apache.spark.rdd.{CheckpointRDD, EmptyRDD, ParallelCollectionRDD, RDD}
import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.catalyst.optimizer.InlineCTE
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.LogicalRDD
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, DataSourceV2ScanRelation, FileTable}

import Sessions.{Dataset, SparkSession}

/**
 * What the rows of a table or view depend on, read off its analysed plan, views and subqueries included: where they come
 * from, and what may make them others at the next reading.
 */
final class PlanFacts {

  /**
   * What may change unnoticed, in words: each source that has neither files that can be listed nor rows of its own, and each
   * function of the user's that a view's text names.
   */
  def unwatched(frame: Dataset[_]): Array[String] = {
    val plan = frame.queryExecution.analyzed
    val sources = plan.collectWithSubqueries { case leaf if leaf.children.isEmpty => source(leaf) }.flatten
    val functions = new Readings().look(plan).named.map(name => s"what $name() gives, a function that may be replaced")
    (sources ++ functions).distinct.toArray
  }

  /** What Spark, or SQL, leaves to chance, to the clock or to the session, in words. */
  def unrepeatable(frame: Dataset[_]): Array[String] = Repeatability.chances(plan(frame)).distinct.toArray

  /** The orders that decide which rows there are, or what is in them, and in which several rows are equal; runs jobs. */
  def ties(frame: Dataset[_]): Array[String] =
    Repeatability.orders(plan(frame)).filter(_.hasTies(frame.sparkSession)).map(_.what).distinct.toArray

  /** The files that the plan reads, those of scalar subqueries and those behind a cache too; `inputFiles` has neither. */
  def files(frame: Dataset[_]): Array[String] = {
    val execution = frame.queryExecution
    val cached = execution.withCachedData.collectWithSubqueries { case kept: InMemoryRelation => kept }.nonEmpty
    val plan =
      if (cached) frame.sparkSession.sessionState.optimizer.execute(execution.analyzed.clone()) else execution.optimizedPlan
    plan.collectWithSubqueries {
      case RelationOf(files: HadoopFsRelation, _) => files.inputFiles.toSeq
      case scan: DataSourceV2ScanRelation => scan.relation.table match {
          case files: FileTable => files.fileIndex.inputFiles.toSeq
          case _ => Seq.empty
        }
    }.flatten.distinct.toArray
  }

  /** A checksum of the rows that stand in the plan itself; empty when there are none. */
  def writtenRows(frame: Dataset[_]): String = {
    val tables = frame.queryExecution.analyzed.collectWithSubqueries { case table: LocalRelation => table }
    if (tables.isEmpty) ""
    else {
      val digest = MessageDigest.getInstance("SHA-256")
      tables.foreach { table =>
        val bytes = UnsafeProjection.create(table.schema)
        table.data.foreach(row => digest.update(bytes(row).getBytes))
        digest.update(0.toByte)
      }
      digest.digest().take(8).map("%02x".format(_)).mkString
    }
  }

  /** The collections of the program whose rows the plan reads, by number; a number means nothing to another application. */
  def collections(frame: Dataset[_]): Array[String] = {
    val application = frame.sparkSession.sparkContext.applicationId
    frame.queryExecution.analyzed.collectWithSubqueries {
      case given: LogicalRDD => s"$application ${given.rdd.id}"
    }.toArray
  }

  private def plan(frame: Dataset[_]): LogicalPlan = InlineCTE(alwaysInline = true)(frame.queryExecution.analyzed)

  private def source(leaf: LogicalPlan): Option[String] = leaf match {
    case RelationOf(_: HadoopFsRelation, _) => None // files, wherever they are: they can be listed
    case RelationOf(other, _) => Some(s"a data source (${other.getClass.getSimpleName})")
    case table: HiveTableRelation => Some(s"the Hive table ${table.tableMeta.identifier.unquotedString}")
    case relation: DataSourceV2Relation => relation.table match {
      case _: FileTable => None
      case table => Some(s"a data source (${table.name})")
    }
    case given: LogicalRDD if isFixed(given.rdd) => None
    case _: LogicalRDD => Some("an RDD that reads something itself")
    case _: LocalRelation | _: Range | _: OneRowRelation | _: CTERelationRef => None
    case own if NewerPlans.readsNothing(own) => None
    case other => Some(other.nodeName)
  }

  /** Whether all rows were handed over by the program, or kept once. */
  private def isFixed(rdd: RDD[_]): Boolean = rdd match {
    case _: ParallelCollectionRDD[_] | _: CheckpointRDD[_] | _: EmptyRDD[_] => true
    case other => other.dependencies.nonEmpty && other.dependencies.forall(each => isFixed(each.rdd))
  }
}
