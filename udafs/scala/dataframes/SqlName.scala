package org.apache.spark.sql.forwardlineage

private[sql] object SqlName {

  /** A name as SQL writes it, whatever is in it. */
  def quoted(name: String): String = "`" + name.replace("`", "``") + "`"
}
