package org.apache.spark.sql.forwardlineage

import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest

import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.catalyst.analysis.{Analyzer, GetViewColumnByNameAndOrdinal, UnresolvedAttribute, UnresolvedRelation}
import org.apache.spark.sql.catalyst.catalog.{CatalogTable, CatalogTableType, HiveTableRelation, UnresolvedCatalogRelation}
import org.apache.spark.sql.catalyst.expressions.{Alias, Cast, Expression, NamedExpression, UpCast}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.types.{BinaryType, DataType, StringType, StructField, StructType}

import Sessions.SparkSession

/**
 * Tables that keep the lineage of their rows in a column `DL`, and in a property what its ids mean.
 *
 * The property is written by CREATE TABLE … AS, with the table. SQL that was rewritten for such a table says which meaning it
 * was rewritten for, and is refused where the table has another one by the time it runs.
 */
private object StoredLineage {
  val Column = "DL"
  val Property = "forward_lineage.meaning"
  private val Digits = 16
  private val OfEarlierRows = "of rows before" // in place of the property; forward_lineage/stored_tables.py says what it is

  def isLineage(name: String, kind: DataType): Boolean = name.equalsIgnoreCase(Column) && (kind match {
    case sets: StructType => sets.nonEmpty && sets.forall(_.dataType == BinaryType)
    case _ => false
  })

  def isLineage(field: StructField): Boolean = isLineage(field.name, field.dataType)

  def isKept(table: CatalogTable): Boolean =
    table.tableType != CatalogTableType.VIEW && table.properties.contains(Property) && table.schema.exists(isLineage)

  /** What an analysed relation says of its lineage. */
  def meaning(relation: LogicalPlan): Option[String] = relation.collectFirst {
    case RelationOf(_, Some(table)) => table
    case hive: HiveTableRelation => hive.tableMeta
  }.flatMap(_.properties.get(Property))

  /** dl_stored(dl, table, check[, gone]) */
  def read(arguments: Seq[Expression]): Expression = {
    val Seq(table, check) = arguments.slice(1, 3).map(text("dl_stored", _))
    if (said(table).map(checkOf) != Some(check)) {
      LineageErrors.refuse(
        s"$table is not the table that this SQL was rewritten for: its property $Property, which says what its lineage means, " +
          "is another one or missing. Rewrite the statement again.")
    }
    DlStored(arguments.head, table, arguments.drop(3).headOption.fold(Seq.empty[(Long, Long)])(each => ranges(text("dl_stored", each))))
  }

  /** dl_into(lineage, table, check): the lineage, for a table that means the same by it, or says nothing of what it means. */
  def written(arguments: Seq[Expression]): Expression = {
    val Seq(table, check) = arguments.slice(1, 3).map(text("dl_into", _))
    if (said(table).exists(checkOf(_) != check)) {
      LineageErrors.refuse(
        s"The lineage in $table has another meaning than that of the rows to be inserted, as its property $Property says. " +
          s"Rewrite the INSERT again, or make $table anew.")
    }
    arguments.head
  }

  private def text(function: String, argument: Expression): String =
    if (argument.foldable && argument.dataType == StringType) argument.eval().toString
    else LineageErrors.refuse(s"$function needs string literals behind the lineage.")

  private def said(table: String): Option[String] = {
    val session = SparkSession.active
    saidBy(session, session.sessionState.sqlParser.parseMultipartIdentifier(table))
  }

  /** What a table of Spark's own catalog, or of another one, says of its lineage. */
  def saidBy(session: SparkSession, parts: Seq[String]): Option[String] = saidBy(session, parts, known(session, parts))

  /** The same of a table that was looked up. */
  def saidBy(session: SparkSession, parts: Seq[String], known: Option[CatalogTable]): Option[String] = known match {
    case Some(table) if !keepsItself(table) => table.properties.get(Property)
    case _ => OtherCatalogs.table(session, parts).flatMap(found => Option(found.properties.get(Property)).map(ofItsRows(found, _)))
  }

  /** A property speaks of rows that were written since the table was made anew; of others nothing is known. */
  private def ofItsRows(table: Table, meaning: String): String =
    if (OtherCatalogs.isIceberg(table) && IcebergTables.isOlderThanItsProperties(table)) OfEarlierRows else meaning

  /** What Spark's own catalog knows of a table or a view; None: it is in another one, or there is none. */
  def known(session: SparkSession, parts: Seq[String]): Option[CatalogTable] =
    OtherCatalogs.inSession(session, parts).flatMap { name =>
      try Some(session.sessionState.catalog.getTempViewOrPermanentTableMetadata(name))
      catch { case _: AnalysisException => None } // Spark says it better that there is no such table
    }

  /** Whether the format of a table keeps its properties in its own log. */
  def keepsItself(table: CatalogTable): Boolean = table.provider.exists(each => Formats(each.toLowerCase))

  private val Formats = Set("delta", "iceberg")

  private def checkOf(meaning: String): String =
    MessageDigest.getInstance("SHA-256").digest(meaning.getBytes(UTF_8)).map("%02x".format(_)).mkString.take(Digits)

  /** "3-5,9-12": [3, 5) and [9, 12) */
  private def ranges(text: String): Seq[(Long, Long)] = text.split(',').toSeq.map { range =>
    val Array(first, end) = range.split('-')
    first.toLong -> end.toLong
  }

  /** Spark's analyser, to which tables that keep lineage have their users' columns alone, as traced queries see them. */
  def analyzer(session: SparkSession): Analyzer = {
    val own = session.sessionState.analyzer
    new SessionAnalyzer(session, Seq(new UsersColumnsElsewhere(session))) {
      override val extendedResolutionRules: Seq[Rule[LogicalPlan]] = UsersColumns +: own.extendedResolutionRules
      override val postHocResolutionRules: Seq[Rule[LogicalPlan]] = own.postHocResolutionRules
      override val extendedCheckRules: Seq[LogicalPlan => Unit] = own.extendedCheckRules
    }
  }
}

/** Before Spark finds the files of a table: stars have not been expanded over it. */
private object UsersColumns extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
    case table: UnresolvedCatalogRelation if StoredLineage.isKept(table.tableMeta) =>
      val columns = table.tableMeta.schema.filterNot(StoredLineage.isLineage).map(_.name)
      Project(columns.map(column => UnresolvedAttribute(Seq(column))), table)
    case view @ Project(columns, _) if columns.exists(ofView) && !columns.forall(ofView) =>
      view.copy(projectList = columns.filterNot(ofView))
  }

  /** The column of a view that was made of all columns of such a table. */
  private def ofView(column: NamedExpression): Boolean = column match {
    case Alias(UpCast(_: GetViewColumnByNameAndOrdinal, kind: DataType, _), name) => StoredLineage.isLineage(name, kind)
    case Alias(Cast(_: GetViewColumnByNameAndOrdinal, kind, _, _), name) => StoredLineage.isLineage(name, kind)
    case _ => false
  }
}

/**
 * Gives tables of other catalogs that keep lineage their users' columns alone, before Spark knows what their names mean:
 * it expands stars over such a table as soon as it does. CTEs are in their places by then.
 */
private class UsersColumnsElsewhere(session: SparkSession) extends Rule[LogicalPlan] {
  import UsersColumnsElsewhere.Seen

  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
    case named: UnresolvedRelation if named.getTagValue(Seen).isEmpty =>
      named.setTagValue(Seen, ())
      columns(named.multipartIdentifier).fold[LogicalPlan](named)(found => Project(found.map(each => UnresolvedAttribute(Seq(each))), named))
  }

  private def columns(parts: Seq[String]): Option[Seq[String]] =
    if (!StoredLineage.known(session, parts).fold(OtherCatalogs.inSession(session, parts).isEmpty)(StoredLineage.keepsItself)) None
    else
      OtherCatalogs.table(session, parts).filter(_.properties.containsKey(StoredLineage.Property)).map(
        _.columns.toSeq.filterNot(each => StoredLineage.isLineage(each.name, each.dataType)).map(_.name))
}

private object UsersColumnsElsewhere {
  private val Seen = TreeNodeTag[Unit]("forward_lineage.users_columns")
}
