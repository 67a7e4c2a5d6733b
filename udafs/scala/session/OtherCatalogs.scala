package org.apache.spark.sql.forwardlineage

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.analysis.{UnresolvedAttribute, UnresolvedRelation}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.connector.catalog.CatalogV2Implicits._
import org.apache.spark.sql.connector.catalog.{Identifier, Table, TableCatalog}

import Sessions.SparkSession

/** Tables whose properties are not in Spark's own catalog: of Delta they are in its log, of Iceberg in its metadata. */
private object OtherCatalogs {

  /** A property of a table, as its catalog loads it now; None: it has none, or there is no such table. */
  def property(session: SparkSession, parts: Seq[String], key: String): Option[String] =
    table(session, parts).flatMap(found => Option(found.properties.get(key)))

  def table(session: SparkSession, parts: Seq[String]): Option[Table] = {
    val manager = session.sessionState.catalogManager
    val (catalog, inside) = parts match {
      case Seq(first, rest @ _*) if rest.nonEmpty && manager.isCatalogRegistered(first) => (manager.catalog(first), rest)
      case Seq(name) => (manager.currentCatalog, manager.currentNamespace.toSeq :+ name)
      case _ => (manager.currentCatalog, parts)
    }
    catalog match {
      case tables: TableCatalog =>
        try Option(tables.loadTable(Identifier.of(inside.init.toArray, inside.last)))
        catch { case NonFatal(_) => None } // Spark says it better that there is no such table
      case _ => None
    }
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

  private def columns(parts: Seq[String]): Option[Seq[String]] = {
    val catalog = session.sessionState.catalog
    val isOurs = parts.size > 2 || {
      val name = parts.asTableIdentifier
      !catalog.isTempView(name) && catalog.tableExists(name) && StoredLineage.keepsItself(catalog.getTableMetadata(name))
    }
    if (!isOurs) None
    else
      OtherCatalogs.table(session, parts).filter(_.properties.containsKey(StoredLineage.Property)).map(
        _.columns.toSeq.filterNot(each => StoredLineage.isLineage(each.name, each.dataType)).map(_.name))
  }
}

private object UsersColumnsElsewhere {
  private val Seen = TreeNodeTag[Unit]("forward_lineage.users_columns")
}
