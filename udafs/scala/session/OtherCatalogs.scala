package org.apache.spark.sql.forwardlineage

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.connector.catalog.CatalogV2Implicits._
import org.apache.spark.sql.connector.catalog.{CatalogManager, Identifier, Table, TableCatalog}

import Sessions.SparkSession

/** Tables whose properties are not in Spark's own catalog: of Delta they are in its log, of Iceberg in its metadata. */
private object OtherCatalogs {

  /** What Spark's own catalog calls a table or a view; None: the name means one in another catalog. */
  def inSession(session: SparkSession, parts: Seq[String]): Option[TableIdentifier] = {
    val (manager, views) = (session.sessionState.catalogManager, session.sessionState.catalog)
    def isOwn(catalog: String) = catalog.equalsIgnoreCase(CatalogManager.SESSION_CATALOG_NAME)
    val inside = parts match {
      case Seq(first, rest @ _*) if rest.nonEmpty && manager.isCatalogRegistered(first) => if (isOwn(first)) rest else Nil
      case _ => if (isOwn(manager.currentCatalog.name) || views.isTempView(parts)) parts else Nil
    }
    if (inside.isEmpty || inside.size > 2) None else Some(inside.asTableIdentifier)
  }

  def isIceberg(table: Table): Boolean = "iceberg".equalsIgnoreCase(table.properties.get(TableCatalog.PROP_PROVIDER))

  def table(session: SparkSession, parts: Seq[String]): Option[Table] =
    try Some(loaded(session, parts))
    catch { case NonFatal(_) => None } // Spark says it better that there is no such table

  /** A table as its catalog loads it now; Spark's own error where there is none. */
  def loaded(session: SparkSession, parts: Seq[String]): Table = {
    val (catalog, name) = place(session, parts)
    catalog.loadTable(name)
  }

  /** The same of what the session need not have kept of it. */
  def loadedAgain(session: SparkSession, parts: Seq[String]): Table = {
    val (catalog, name) = place(session, parts)
    catalog.invalidateTable(name)
    catalog.loadTable(name)
  }

  private def place(session: SparkSession, parts: Seq[String]): (TableCatalog, Identifier) = {
    val manager = session.sessionState.catalogManager
    val (catalog, inside) = parts match {
      case Seq(first, rest @ _*) if rest.nonEmpty && manager.isCatalogRegistered(first) => (manager.catalog(first), rest)
      case Seq(name) => (manager.currentCatalog, manager.currentNamespace.toSeq :+ name)
      case _ => (manager.currentCatalog, parts)
    }
    (catalog.asTableCatalog, Identifier.of(inside.init.toArray, inside.last))
  }
}
