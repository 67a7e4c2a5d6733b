package org.apache.spark.sql.forwardlineage

import java.util.function.{Function => JFunction}

import org.apache.spark.sql.catalyst.expressions.UnaryExpression
import org.apache.spark.sql.catalyst.expressions.codegen.{CodeGenerator, CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._

/** Generated code for what turns ids back into values, which may be NULL of an id that is not. */
object GranuleValues {
  def generated(of: UnaryExpression, op: Op[Any, Any], ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val function = ctx.addReferenceObj("op", op, classOf[JFunction[_, _]].getName)
    val (id, found) = (of.child.genCode(ctx), ctx.freshName("found"))
    val (boxed, plain) = (CodeGenerator.boxedType(of.dataType), CodeGenerator.javaType(of.dataType))
    ev.copy(code = code"""
       |${id.code}
       |$boxed $found = ${id.isNull} ? null : ($boxed) $function.apply(${id.value});
       |boolean ${ev.isNull} = $found == null;
       |$plain ${ev.value} = ${ev.isNull} ? ${CodeGenerator.defaultValue(of.dataType)} : $found;
     """.stripMargin)
  }
}
