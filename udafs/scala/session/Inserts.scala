package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation
import org.apache.spark.sql.catalyst.plans.logical.{InsertIntoDir, InsertIntoStatement, LogicalPlan, Union, UnresolvedWith}
import org.apache.spark.sql.types.{StructField, StructType}

import Sessions.SparkSession

/**
 * Where the rows of an INSERT go, and whether its target has a column for their lineage.
 */
final class Inserts {

  /**
   * For each target of a statement, the columns that the user's rows fill, in the target's order; the fields of its column
   * `DL`, none if it has no such column; and what it says of their meaning, if it does. Null when the statement inserts
   * nothing. Rows that go to a folder have no target.
   */
  def targets(session: SparkSession, sql: String): Array[Array[Array[String]]] = {
    val found = Inserts.of(session.sessionState.sqlParser.parsePlan(sql)).map(_.map { insert =>
      val target = Inserts.target(session, insert)
      val (schema, fields) = (target.schema, Inserts.lineage(target.schema).fold(Array.empty[String])(Inserts.fields))
      Array(Inserts.filled(insert, schema).toArray, fields, said(session, insert, target).toArray)
    })
    found.map(_.toArray).orNull
  }

  private def said(session: SparkSession, insert: InsertIntoStatement, target: LogicalPlan): Option[String] =
    StoredLineage.meaning(target).orElse(insert.table match {
      case table: UnresolvedRelation => StoredLineage.saidBy(session, table.multipartIdentifier)
      case _ => None
    })
}

private object Inserts {
  /** The INSERTs that a statement consists of; None when it is, or has, anything else: a query, a script. */
  private def of(plan: LogicalPlan): Option[Seq[InsertIntoStatement]] = plan match {
    case insert: InsertIntoStatement => Some(Seq(insert))
    case _: InsertIntoDir => Some(Seq.empty)
    case ctes: UnresolvedWith => of(ctes.child)
    case several: Union => // FROM t INSERT … INSERT …
      val found = several.children.map(of)
      if (found.forall(_.isDefined)) Some(found.flatMap(_.get)) else None
    case _ => None
  }

  /** The same statement, with the columns that the rows fill by position named, if lineage fills one more. */
  def named(session: SparkSession, plan: LogicalPlan): LogicalPlan = plan.transform {
    case insert: InsertIntoStatement if insert.userSpecifiedCols.isEmpty && !insert.byName =>
      val schema = target(session, insert).schema
      if (lineage(schema).isEmpty) insert else insert.copy(userSpecifiedCols = filled(insert, schema))
  }

  private def target(session: SparkSession, insert: InsertIntoStatement): LogicalPlan =
    session.sessionState.executePlan(insert.table).analyzed

  private def filled(insert: InsertIntoStatement, target: StructType): Seq[String] = {
    val given = insert.partitionSpec.collect { case (column, Some(_)) => column.toLowerCase }.toSet
    target.fieldNames.toSeq.filterNot(column => column.equalsIgnoreCase(StoredLineage.Column) || given(column.toLowerCase))
  }

  private def lineage(target: StructType): Option[StructField] = target.find(StoredLineage.isLineage)

  private def fields(lineage: StructField): Array[String] = lineage.dataType.asInstanceOf[StructType].fieldNames
}
