package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.connector.catalog.CatalogManager

/** Where Spark keeps the temporary functions of a session: from 4.2 on in system.session. */
private[forwardlineage] object SessionFunctions {
  def identifier(name: String): FunctionIdentifier =
    FunctionIdentifier(name, Some(CatalogManager.SESSION_NAMESPACE), Some(CatalogManager.SYSTEM_CATALOG_NAME))
}
