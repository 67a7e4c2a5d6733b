package org.apache.spark.sql.forwardlineage

import java.io.IOException

/** A file that is no Parquet, or no whole one. */
final class NotParquetException(val path: String, why: String) extends IOException(why)

/** A file or folder that was there, or longer, a moment ago. */
final class ChangedMeanwhileException(val path: String) extends IOException(s"$path changed")
