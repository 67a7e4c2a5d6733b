"""Settings of a Spark session, for as long as something needs them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from pyspark.sql import SparkSession

from forward_lineage.spark.errors import put_back
from udafs.requests import ask, ask_json

QUICK_VALUES = {"spark.forward_lineage.encoding": "quick"}
"""For queries whose lineage values go into a relation: they are not written as BDDs, to be taken apart again."""

BY_REFERENCE = "spark.forward_lineage.by_reference"
"""The session's setting: "auto", the default, weighs what travelling by value would copy against a stage; "true" makes
stages wherever they can be, "false" none."""

GUARD = "spark.forward_lineage.guard"
"""The session's setting; "true": what runs is compared with what was asked, see `forward_lineage.tracing.guarding`."""

UPDATE = "spark.forward_lineage.update"
"""The session's setting; "auto", the default, makes part of a result again where that is expected to be faster;
"partly" wherever a rule tells what is touched: numbers of rows stay, and less of what was made of them is behind."""


#: On which values of expressions may depend besides the row, set or not: the machine says the time zone.
_OF_VALUES = (
    "spark.sql.session.timeZone",
    "spark.sql.ansi.enabled",
    "spark.sql.caseSensitive",
    "spark.sql.timestampType",
)
#: How further ones begin, which stand for what Spark says until somebody sets them.
_OF_VALUES_BEGIN = (
    "spark.sql.ansi.",
    "spark.sql.decimalOperations.",
    "spark.sql.groupBy",
    "spark.sql.legacy.",
    "spark.sql.mapKeyDedupPolicy",
    "spark.sql.orc.",
    "spark.sql.parquet.",
    "spark.sql.parser.",
    "spark.sql.session.",
)
#: But not on these, how the parser keeps its caches: 3.5 sets them itself, and lets nobody else do it.
_OF_CACHES = ("spark.sql.parser.manageParserCaches", "spark.sql.parser.parserDfaCacheFlush")


Setting = Callable[[str, str], str]
"""Gives the value of a setting, or the default that is passed along."""

_REUSE = "spark.sql.exchange.reuse"
OF_TRAVEL = (_REUSE, BY_REFERENCE)
"""What `is_by_reference` and `weighs_copies` look at."""


def setting_of(spark: SparkSession) -> Setting:
    """Return what gives the value of a setting, or the default that is passed along.

    Of what every Spark knows it is Spark's own default, which is another one in another version: ANSI is off in 3.5.
    """
    return lambda name, default: str(spark.conf.get(name) if name in _OF_VALUES else spark.conf.get(name, default))


def settings_at_once(spark: SparkSession, names: Sequence[str]) -> Setting:
    """Return the same for these settings as they are now, all asked for in one request."""
    lines = {"names": "\n".join(names), "anyhow": "\n".join(each for each in names if each in _OF_VALUES)}
    values: dict[str, str | None] = ask_json(spark, "values of settings", **lines)

    def setting(name: str, default: str) -> str:
        found = values[name]
        return default if found is None else found

    return setting


def is_by_reference(setting: Setting) -> bool:
    """Say whether lineage may travel by reference: not if Spark is to compute each use of an exchange anew."""
    reused = setting(_REUSE, "true").lower() == "true"
    return reused and setting(BY_REFERENCE, "auto").lower() in ("true", "auto")


def weighs_copies(setting: Setting) -> bool:
    """Say whether a stage is to be made only where copying sets is expected to cost more."""
    return setting(BY_REFERENCE, "auto").lower() == "auto"


def is_guarded(spark: SparkSession) -> bool:
    """Say whether plans of rewritten queries are to be compared with those of the users' texts."""
    return str(spark.conf.get(GUARD, "false")).lower() == "true"


def weighs_updates(spark: SparkSession) -> bool:
    """Say whether part of a result is to be made again only where all of it is expected to take longer."""
    return str(spark.conf.get(UPDATE, "auto")).lower() != "partly"


def settings_made(spark: SparkSession) -> dict[str, str]:
    """Return what was set, for this session or for all."""
    return dict(ask_json(spark, "settings"))


def settings_in_force(spark: SparkSession) -> dict[str, str]:
    """Return what was set, and what holds anyhow of that on which values of expressions depend most."""
    return settings_made(spark) | {name: str(spark.conf.get(name)) for name in _OF_VALUES}


def settings_of_values(spark: SparkSession) -> tuple[str, ...]:
    """Return the settings on which values of expressions may depend: arrays made under others are other arrays."""
    return among_settings(settings_in_force(spark))


def among_settings(settings: Mapping[str, str]) -> tuple[str, ...]:
    """Return what `settings_of_values` does, of settings that `settings_in_force` has listed."""
    mine = (name for name in settings if name in _OF_VALUES or name.startswith(_OF_VALUES_BEGIN))
    return tuple(f"{name}={settings[name]}" for name in sorted(mine) if not name.startswith(_OF_CACHES))


class Settings:
    """The settings of a session on which values depend, for those who ask before every answer.

    They are listed anew only where one was changed since.

    Args:
        spark: the session.

    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._before: tuple[str, str] | None = None
        self._known: tuple[str, ...] = ()

    def now(self) -> tuple[str, ...]:
        """Return what `settings_of_values` does."""
        said = (
            ask(self._spark, "settings as text"),
            str(self._spark.conf.get(_OF_VALUES[0])),
        )  # the machine's, if nobody set it
        if said != self._before:
            self._before, self._known = said, settings_of_values(self._spark)
        return self._known


@contextmanager
def configured(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Set these while the block runs; afterwards each is what it was, or unset.

    Args:
        spark: the session.
        settings: values by key, e.g. ``{"spark.sql.adaptive.enabled": "false"}``.

    """
    before = {key: spark.conf.get(key, None) for key in settings}
    try:
        for key, value in settings.items():
            spark.conf.set(key, value)
        yield
    finally:
        with put_back():
            for key, old in before.items():
                if old is None:
                    spark.conf.unset(key)
                else:
                    spark.conf.set(key, old)
