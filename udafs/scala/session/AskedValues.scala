package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, AttributeMap, AttributeSet, CreateNamedStruct, GetStructField, HigherOrderFunction, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan, Project, WithCTE}
import org.apache.spark.sql.catalyst.rules.Rule

/**
 * A lineage value that a query does not return and only asks something of is made where it is asked.
 *
 *   Project(…, CASE WHEN c THEN dl_size(DL.t) END)            Project(…, CASE WHEN c THEN dl_size(value of t) END)
 *     Project(…, named_struct(t, value of t) AS DL)      →      Project(…)
 *
 * A row that the question passes over costs nothing then, and `QuickQuestions` sees value and question together. Spark does not
 * collapse the two: it takes the rows that a stage is looked up in for chance. Nothing is computed twice by it: only fields
 * that are read once are moved, and none into a lambda. What a grouping makes is taken apart from its struct first.
 */
object AskedValues extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case project: Project => late(project).getOrElse(project)
  }

  private def late(project: Project): Option[LogicalPlan] = project.child match {
    case WithCTE(child, definitions) => late(project.copy(child = child)).map(WithCTE(_, definitions))
    case Project(made, child) => asked(project, made).map { structs =>
      val left = made.filterNot(e => structs.contains(e.toAttribute))
      val read = AttributeSet(structs.values.flatMap(_.references)) -- left.map(_.toAttribute)
      Project(project.projectList.map(inlined(_, structs)), Project(left ++ read.toSeq, child))
    }
    case grouping: Aggregate =>
      asked(project, grouping.aggregateExpressions)
        .flatMap(structs => UnionsApart(grouping, made => structs.contains(made.toAttribute)))
        .flatMap(made => late(project.copy(child = made)))
    case _ => None
  }

  /** The structs made below that are read by field above, by what they are called there. */
  private def asked(project: Project, made: Seq[NamedExpression]): Option[AttributeMap[CreateNamedStruct]] =
    Some(AttributeMap(made.collect {
      case alias @ Alias(struct: CreateNamedStruct, _)
          if struct.valExprs.exists(_.exists(QuickValues.makes)) && readByField(alias.toAttribute, project.projectList) =>
        alias.toAttribute -> struct
    })).filter(_.nonEmpty)

  /** Whether nothing but fields of the struct is read, each at most once, and somewhere one is. */
  private def readByField(struct: Attribute, above: Seq[NamedExpression]): Boolean = {
    val fields = above.flatMap(_.collect { case GetStructField(a: Attribute, field, _) if a.semanticEquals(struct) => field })
    val uses = above.map(_.collect { case a: Attribute if a.semanticEquals(struct) => a }.size).sum
    val inLambda = above.exists(_.exists {
      case function: HigherOrderFunction => function.references.contains(struct)
      case _ => false
    })
    uses > 0 && uses == fields.size && fields.distinct.size == fields.size && !inLambda
  }

  private def inlined(expression: NamedExpression, asked: AttributeMap[CreateNamedStruct]): NamedExpression =
    expression.transformDown { case GetStructField(a: Attribute, field, _) if asked.contains(a) => asked(a).valExprs(field) }
      .asInstanceOf[NamedExpression]
}
