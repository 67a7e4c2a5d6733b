package org.apache.spark.sql.forwardlineage

import java.lang.reflect.InvocationTargetException
import java.util.{Map => JavaMap}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.catalog.Table

/** What Iceberg alone knows of its tables. Its classes are reached by their names: the kernel is made without them. */
private object IcebergTables {

  /** A snapshot; `parent` is null for the first one of a table, and of a table that was made anew. */
  private case class Snapshot(id: Long, parent: AnyRef, at: Long)

  /**
   * Whether rows of a loaded table were written before `CREATE OR REPLACE` made it anew: its properties do not speak of these. Branches
   * and tags stay when a table is made anew, and `set_current_snapshot` leads back to any snapshot.
   */
  def isOlderThanItsProperties(loaded: Table): Boolean = {
    val table = call(loaded, "table")
    val all = call(table, "snapshots").asInstanceOf[java.lang.Iterable[AnyRef]].asScala.map(known).map(each => each.id -> each).toMap
    val beginning = read(loaded, table).flatMap(all.get).map { newest =>
      Iterator.iterate(Option(newest))(_.flatMap(each => Option(each.parent).flatMap(parent => all.get(parent.asInstanceOf[Long]))))
        .takeWhile(_.nonEmpty).flatten.map(_.at).min
    }
    beginning.exists(first => all.values.exists(each => each.parent == null && each.at > first))
  }

  def call(on: AnyRef, name: String): AnyRef = {
    val method = on.getClass.getMethod(name)
    method.setAccessible(true) // a public method of a class that need not be
    try method.invoke(on)
    catch { case wrapped: InvocationTargetException => throw wrapped.getCause }
  }

  private def known(snapshot: AnyRef): Snapshot =
    Snapshot(call(snapshot, "snapshotId").asInstanceOf[Long], call(snapshot, "parentId"), call(snapshot, "timestampMillis").asInstanceOf[Long])

  /** The snapshot that a name means: of a tag, of a branch, or the current one. */
  private def read(loaded: Table, table: AnyRef): Option[Long] = {
    def id(snapshot: AnyRef) = Option(snapshot).map(call(_, "snapshotId").asInstanceOf[Long])
    lazy val ofBranch = Option(call(loaded, "branch")).flatMap(branch => id(call(table, "refs").asInstanceOf[JavaMap[AnyRef, AnyRef]].get(branch)))
    Option(call(loaded, "snapshotId")).map(_.asInstanceOf[Long]).orElse(ofBranch).orElse(id(call(table, "currentSnapshot")))
  }
}
