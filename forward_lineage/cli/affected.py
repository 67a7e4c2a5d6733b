"""`forward-lineage affected`: the rows of a query that were made from suspected base rows."""

from __future__ import annotations

import click

from forward_lineage.cli.answers import Answer, answer_options
from forward_lineage.cli.checks import check_statement, check_table
from forward_lineage.cli.column_checks import check_condition_over
from forward_lineage.cli.frame_rows import FrameRows
from forward_lineage.cli.inputs import read_statement
from forward_lineage.cli.names import completing
from forward_lineage.cli.opening import Opening, session_options
from forward_lineage.cli.options import semantics_option, sql_argument
from forward_lineage.frontend import check_condition
from forward_lineage.spark.progress import spark_progress


@click.command()
@sql_argument
@click.option(
    "--table", required=True, help="The registered table with the suspected rows.", shell_complete=completing("tables")
)
@click.option("--where", metavar="SQL", required=True, help="Which rows, as a condition over its columns.")
@semantics_option
@answer_options
@session_options
def affected(*, file: str, table: str, where: str, semantics: str, answer: Answer, opening: Opening) -> None:
    """Show the rows of a query that were made from suspected rows of a table; nothing is stored.

    FILE holds one Spark SQL query; - reads standard input. DL says which suspected rows a row was made from.
    """
    sql = read_statement(file)
    check_condition(where)
    check_table(opening, table)
    check_condition_over(opening, table, where)
    check_statement(opening, sql)
    with opening.session_to_look("affected") as lineage:
        with spark_progress(lineage.spark, "running the query"):
            found = FrameRows(lineage.affected(sql, table, where, semantics))
            show = answer.laid_out(found, nothing=f"No row of the query was made from these rows of {table}.")
        found_some = show()
    answer.finish(found_some)
