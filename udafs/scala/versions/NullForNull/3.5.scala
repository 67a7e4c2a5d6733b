package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions.{Expression, NullIntolerant}

/** Is NULL where an argument is: in 3.5 a type says so. */
private[forwardlineage] trait NullForNull extends Expression with NullIntolerant
