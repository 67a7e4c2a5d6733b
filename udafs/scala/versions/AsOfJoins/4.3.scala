package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.plans.logical.AsOfJoin
import org.apache.spark.sql.internal.SQLConf

/** From 4.3 on there is an operator for them, which of equally near rows may take another one than `min_by`. */
private[forwardlineage] object AsOfJoins {

  /** Whether it is that operator which joins: ASOF JOIN in SQL, or a setting, asks for it. */
  def isSorted(join: AsOfJoin): Boolean = SQLConf.get.useSortMergeAsOfJoinOperator(join.requiresSortMergeAsOfJoin)
}
