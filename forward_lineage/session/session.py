"""`ForwardLineage`: lineage for a live Spark session."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from forward_lineage.openlineage.runs import Given
from forward_lineage.row_ids.registration_store import Registrations, home_folder
from forward_lineage.session.approximate_calls import ApproximateCalls
from forward_lineage.session.array_calls import ArrayCalls
from forward_lineage.session.components import parts_of
from forward_lineage.session.ended_calls import says_why_it_ends
from forward_lineage.session.explain_calls import ExplainCalls
from forward_lineage.session.model_calls import ModelCalls
from forward_lineage.session.profile_calls import ProfileCalls
from forward_lineage.session.query_calls import QueryCalls
from forward_lineage.session.result_calls import ResultCalls
from forward_lineage.session.show_calls import ShowCalls
from forward_lineage.session.sketch_calls import SketchCalls
from forward_lineage.session.step_calls import StepCalls
from forward_lineage.session.table_calls import TableCalls
from forward_lineage.session.update_calls import UpdateCalls
from forward_lineage.session.view_calls import ViewCalls
from forward_lineage.spark.interrupts import interruptible
from forward_lineage.spark.shared_home import check_shared_home
from forward_lineage.storage.homes import ObjectHome, folder_of
from udafs.attach import attach


@says_why_it_ends
class ForwardLineage(
    TableCalls,
    QueryCalls,
    ResultCalls,
    ArrayCalls,
    ModelCalls,
    UpdateCalls,
    ExplainCalls,
    ViewCalls,
    ProfileCalls,
    SketchCalls,
    ApproximateCalls,
    ShowCalls,
    StepCalls,
):
    """Trace lineage in a Spark session that is already running.

    Making one attaches the SQL functions (`dlunion`, `dl_ids`, …) to the session. It also brings back the tables that
    were registered under `home` before. You may make several for one session.

    Args:
        spark: the session.
        home: where registrations and saved results are: a folder, or an address in an object store such as
            ``s3://bucket/prefix``; $FORWARD_LINEAGE_HOME, else ./lineage_home. Under Spark Connect the server and its
            executors must see a folder under the same path.
        openlineage: where events of saves, and of tables that queries write, are sent. Give the address of an endpoint,
            a file, or `forward_lineage.openlineage.OpenLineage`; $FORWARD_LINEAGE_OPENLINEAGE, else nothing is sent.

    Raises:
        LineageError: the session is one of Spark Connect, and its server does not have the kernel or does not see the
            home. Or events are to be sent, and there is no client. A damaged registration is reported when it is used.

    Examples:
        The examples of all methods go on from here.

        >>> rows = [(1, "binder", 40), (2, "pencil", 30), (3, "binder", 70)]
        >>> spark.createDataFrame(rows, "t_id INT, item STRING, amount INT").createOrReplaceTempView("sales")
        >>> lineage = ForwardLineage(spark)
        >>> lineage.register("sales", key="t_id")
        Manifest(sales, version 1, ids by key (t_id), 3 columns)
        >>> by_item = "SELECT item, sum(amount) AS amount FROM sales GROUP BY item ORDER BY item"
        >>> lineage.save(by_item, "by_item")
        SavedResult(by_item, version 1, 2 rows, made of sales, data, saved at ...)

    """

    def __init__(
        self, spark: SparkSession, home: str | Path | ObjectHome | None = None, *, openlineage: Given = None
    ) -> None:
        self.spark = spark
        with interruptible(spark):
            attach(spark)
            self.home = home_folder(home)
            check_shared_home(spark, folder_of(self.home))
            self.registrations = Registrations(self.home)
            self._parts = parts_of(spark, self.registrations, self.home, openlineage)
