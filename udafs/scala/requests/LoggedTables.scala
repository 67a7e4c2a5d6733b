package org.apache.spark.sql.forwardlineage

import java.util.{Map => JavaMap}

import scala.util.control.NonFatal

import org.apache.spark.sql.connector.catalog.{Table, TableCatalog}
import org.json4s.{JObject, JString}
import org.json4s.JsonAST.JValue

import IcebergTables.call
import Sessions.SparkSession

/**
 * Where the log of a table is that a catalog knows by name. This is asked of each such table of each query, and DESCRIBE takes
 * 20 times as long.
 */
private[sql] object LoggedTables {

  /**
   * `provider` and `location`; of an Iceberg table also `metadata`, the file of the version that its catalog has now, past what the
   * session keeps of it, and `branch`, if Spark reads one in place of the main one.
   */
  def answer(session: SparkSession, name: Seq[String]): JValue = {
    val loaded = OtherCatalogs.loaded(session, name)
    val properties = loaded.properties
    val said = Seq(TableCatalog.PROP_PROVIDER, TableCatalog.PROP_LOCATION).flatMap(key => Option(properties.get(key)).map(key -> _))
    val more = if (OtherCatalogs.isIceberg(loaded)) ofIceberg(session, refreshed(loaded, OtherCatalogs.loadedAgain(session, name))) else Nil
    JObject((said ++ more).toList.map { case (key, value) => key -> JString(value) })
  }

  /** The table of Iceberg's. One that was dropped elsewhere is kept still: asked again, Spark says that it is not there. */
  private def refreshed(loaded: Table, again: => Table): AnyRef = {
    val table = call(loaded, "table")
    try { call(table, "refresh"); table }
    catch { case NonFatal(_) => call(again, "table") }
  }

  private def ofIceberg(session: SparkSession, table: AnyRef): Seq[(String, String)] = {
    val metadata = call(call(call(table, "operations"), "current"), "metadataFileLocation").toString
    Seq("metadata" -> metadata) ++ branch(session, table).map("branch" -> _)
  }

  /** A table that is audited before it is published is read as it will be. */
  private def branch(session: SparkSession, table: AnyRef): Option[String] = {
    def map(name: String) = call(table, name).asInstanceOf[JavaMap[String, AnyRef]]
    val later = String.valueOf(map("properties").get("write.wap.enabled")).equalsIgnoreCase("true")
    session.conf.getOption("spark.wap.branch").filter(branch => later && map("refs").containsKey(branch))
  }
}
