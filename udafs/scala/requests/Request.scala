package org.apache.spark.sql.forwardlineage

import java.util.Base64

import org.json4s.{JBool, JString}
import org.json4s.jackson.JsonMethods.parse

/** What is asked of the kernel: a name, and arguments by name. */
private[sql] final class Request(text: String) {
  private val json = parse(text)
  val what: String = string("ask")

  def string(name: String): String = optional(name).getOrElse(LineageErrors.refuse(s"A request needs $name."))
  def lines(name: String): Seq[String] = optional(name).toSeq.flatMap(_.split('\n')).filter(_.nonEmpty)
  def number(name: String): Int = string(name).toInt
  def is(name: String): Boolean = (json \ name) == JBool(true)
  def bytes(name: String): Array[Byte] = Base64.getDecoder.decode(string(name))

  private def optional(name: String): Option[String] = (json \ name) match {
    case JString(text) => Some(text)
    case _ => None
  }
}
