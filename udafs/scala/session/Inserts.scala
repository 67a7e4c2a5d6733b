package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.plans.logical.{InsertIntoDir, InsertIntoStatement, LogicalPlan, Union, UnresolvedWith}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.types.{BinaryType, StructField, StructType}

/**
 * Where the rows of an INSERT go, and whether its target has a column for their lineage.
 *
 * A class, not an object: Python makes one through the class loader of the added jar.
 */
final class Inserts {

  /**
   * For each target of a statement, the columns that the user's rows fill, in the target's order, and the fields of its
   * column `DL`, none if it has no such column; null when the statement inserts nothing. Rows that go to a folder have no target.
   */
  def targets(session: SparkSession, sql: String): Array[Array[Array[String]]] = {
    val found = Inserts.of(session.sessionState.sqlParser.parsePlan(sql)).map(_.map { insert =>
      val schema = Inserts.schema(session, insert)
      Array(Inserts.filled(insert, schema).toArray, Inserts.lineage(schema).fold(Array.empty[String])(Inserts.fields))
    })
    found.map(_.toArray).orNull
  }
}

private object Inserts {
  val Lineage = "DL"

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
      val target = schema(session, insert)
      if (lineage(target).isEmpty) insert else insert.copy(userSpecifiedCols = filled(insert, target))
  }

  private def schema(session: SparkSession, insert: InsertIntoStatement): StructType =
    session.sessionState.executePlan(insert.table).analyzed.schema

  private def filled(insert: InsertIntoStatement, target: StructType): Seq[String] = {
    val given = insert.partitionSpec.collect { case (column, Some(_)) => column.toLowerCase }.toSet
    target.fieldNames.toSeq.filterNot(column => column.equalsIgnoreCase(Lineage) || given(column.toLowerCase))
  }

  private def lineage(target: StructType): Option[StructField] = target.find { field =>
    field.name.equalsIgnoreCase(Lineage) && (field.dataType match {
      case sets: StructType => sets.nonEmpty && sets.forall(_.dataType == BinaryType)
      case _ => false
    })
  }

  private def fields(lineage: StructField): Array[String] = lineage.dataType.asInstanceOf[StructType].fieldNames
}
