package org.apache.spark.sql.connect.forwardlineage

import java.nio.charset.StandardCharsets.UTF_8
import java.util.{Optional, UUID}

import scala.jdk.CollectionConverters._

import _root_.forwardlineage.LineageExtensions
import org.apache.spark.connect.proto
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan}
import org.apache.spark.sql.connect.planner.SparkConnectPlanner
import org.apache.spark.sql.connect.plugin.RelationPlugin
import org.apache.spark.sql.forwardlineage.{Registry, Request, Requests, Sessions}
import org.apache.spark.sql.types.BinaryType
import org.sparkproject.connect.protobuf.{Any => Packed}

import Sessions.{Dataset, SparkSession}

/**
 * The kernel's door for Spark Connect: a relation that stands for a request, whose rows are the answer.
 *
 * No message of our own, so that no code is generated: the request is the text of a `SQL` in a `WithRelations` of Connect's, behind a mark that
 * no SQL begins with, and the DataFrames it is about are its references. The rows of the answer, put together in order, are its text.
 *
 * A DataFrame of Connect is analysed anew at each use. One that must not change is kept in the session, as Connect keeps checkpoints: then the
 * answer is its name, and it goes when the client drops it.
 */
class RequestPlugin extends RelationPlugin {
  import RequestPlugin._

  override def transform(relation: Array[Byte], planner: SparkConnectPlanner): Optional[LogicalPlan] = {
    val packed = Packed.parseFrom(relation)
    if (!packed.is(classOf[proto.WithRelations])) return Optional.empty() // another plugin's
    val message = packed.unpack(classOf[proto.WithRelations])
    val text = message.getRoot.getSql.getQuery
    if (!text.startsWith(Mark)) return Optional.empty()
    val asked = new Request(text.substring(Mark.length))
    val session = planner.session
    val answer = session.withActive {
      if (asked.what == "kernel" && !isExtended(session)) Registry.attach(session)
      val frames = message.getReferencesList.asScala.toSeq.map(each => Dataset.ofRows(session, planner.transformRelation(each)))
      if (asked.is("frame")) Option(Requests.rows(session, asked, frames)).fold("")(kept(planner, _))
      else Requests.text(session, asked, frames)
    }
    val rows = answer.getBytes(UTF_8).grouped(Piece).map(piece => InternalRow(piece)).toSeq
    Optional.of(LocalRelation(Seq(AttributeReference("answer", BinaryType, nullable = false)()), rows))
  }

  /** Whether each session of the server has the functions anyhow. */
  private def isExtended(session: SparkSession): Boolean =
    session.conf.getOption("spark.sql.extensions").exists(_.contains(classOf[LineageExtensions].getName))

  private def kept(planner: SparkConnectPlanner, frame: Dataset[Row]): String = {
    val name = UUID.randomUUID.toString
    planner.sessionHolder.cacheDataFrameById(name, frame)
    name
  }
}

private object RequestPlugin {
  private val Mark = "forward_lineage\u0000"
  private val Piece = 1 << 20 // bytes of an answer in a row: a message of gRPC has an end
}
