package org.apache.spark.sql.forwardlineage

import java.util.function.{Function => JFunction}

/**
 * A serialisable function object for generated code, which calls it through `java.util.function.Function`: the compiler of
 * generated code looks classes up in the loader of the calling thread, and that one need not know an added jar.
 */
abstract class Op[A, B] extends JFunction[A, B] with Serializable
