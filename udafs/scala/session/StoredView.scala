package org.apache.spark.sql.forwardlineage

import Sessions.SparkSession

/**
 * Temporary views that are resolved once.
 *
 * A view over parquet.`path` that is kept as text is resolved at every use, and each time a job reads a footer to learn
 * the columns. Here the plan is kept; the text is kept beside it, to tell views apart and to show to people.
 */
final class StoredView {

  /** Creates or replaces a temporary view with the rows of `query`, which says of itself that it is `text`; the name is quoted. */
  def create(session: SparkSession, name: String, query: String, text: String): Unit = {
    session.sql(query).createOrReplaceTempView(name)
    val views = session.sessionState.catalog
    val identifier = session.sessionState.sqlParser.parseTableIdentifier(name)
    views.getRawTempView(identifier.table).foreach { view =>
      val described = view.tableMeta.copy(viewText = Some(text))
      views.createTempView(identifier.table, view.copy(tableMeta = described), overrideIfExists = true)
    }
  }

  /** The text of a temporary view; null when there is no such view, or it has none. The name is not quoted. */
  def text(session: SparkSession, name: String): String = {
    session.sessionState.catalog.getRawTempView(name).flatMap(_.tableMeta.viewText).orNull
  }
}
