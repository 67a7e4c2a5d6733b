package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.catalog.{CatalogTable, CatalogTableType}
import org.json4s.{JArray, JBool, JObject, JString, JValue}
import org.json4s.JsonAST.JNull
import org.json4s.jackson.JsonMethods.compact

import Sessions.SparkSession

/** What names mean to a session's catalog: tables, views, functions. Names are quoted. */
private[sql] object CatalogNames {
  def answer(session: SparkSession, asked: Request): String = asked.what match {
    case "name of table" => compact(found(session, asked.string("name")).fold[JValue](JNull)(described(session, asked.string("name"), _)))
    case "name of log" => compact(LoggedTables.answer(session, parts(session, asked.string("name"))))
    case "name of meaning" =>
      val named = parts(session, asked.string("name"))
      if (OtherCatalogs.inSession(session, named).isEmpty) StoredLineage.saidBy(session, named).getOrElse("")
      else "" // Spark's own catalog does not know it: a path, whose rows are not told from those of another name
    case "name of temporary view" => isTemporary(session, asked.string("name")).toString
    case "name of temporary function" =>
      val identifier = session.sessionState.sqlParser.parseFunctionIdentifier(asked.string("name"))
      session.sessionState.catalog.isTemporaryFunction(identifier).toString
    case other => LineageErrors.refuse(s"The kernel knows no request $other.")
  }

  /** What the catalog says of a table or view that is there. */
  def entry(session: SparkSession, asked: Request): CatalogTable = {
    val name = asked.string("name")
    found(session, name).getOrElse(LineageErrors.refuse(s"$name is gone."))
  }

  private def found(session: SparkSession, name: String): Option[CatalogTable] = {
    val catalog = session.sessionState.catalog
    OtherCatalogs.inSession(session, parts(session, name))
      .filter(identifier => catalog.isTempView(identifier) || catalog.tableExists(identifier))
      .map(catalog.getTempViewOrPermanentTableMetadata)
  }

  private def isTemporary(session: SparkSession, name: String): Boolean =
    session.sessionState.catalog.isTempView(parts(session, name))

  private def described(session: SparkSession, name: String, table: CatalogTable): JValue = JObject(
    "view" -> JBool(table.tableType == CatalogTableType.VIEW),
    "temporary" -> JBool(isTemporary(session, name)),
    "text" -> table.viewText.fold[JValue](JNull)(JString(_)),
    "columns" -> list(table.viewQueryColumnNames), // what its text gave when the view was made, by which Spark finds them
    "made in" -> list(table.viewCatalogAndNamespace),
    "meaning" -> StoredLineage.saidBy(session, parts(session, name), Some(table)).fold[JValue](JNull)(JString(_)))

  private def parts(session: SparkSession, name: String): Seq[String] = session.sessionState.sqlParser.parseMultipartIdentifier(name)

  private def list(names: Seq[String]): JValue = JArray(names.toList.map(JString(_)))
}
