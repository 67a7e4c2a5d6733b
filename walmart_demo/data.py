"""One day of sales as four Parquet files: drawn from a seed, whole or not at all, and reused."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.progress import Progress

from forward_lineage import BadArgumentError, DamagedError
from walmart_demo import TABLES
from walmart_demo.items import BAD_RECORD, Items, draw_items
from walmart_demo.places import CITIES, TWO_STORES
from walmart_demo.sales import STORE, STORES, Day, draw_day, number_of, price_of, scans_of_stores

SEED = 2007
SMALL = 13  # stores that are generated when nobody says how many
_VERSION = 1  # of what a seed means; a new one makes folders of the old one unfit for reuse
_DAY = np.datetime64("2007-03-01T00:00:00")
_MARK = b"walmart_demo"  # the metadata key under which the files say what they were drawn from


def default_folder(stores: int = SMALL, seed: int = SEED) -> Path:
    """Return where the data live: `$FORWARD_LINEAGE_DATA/walmart/stores<n>-seed<s>`, else under `./.data`."""
    root = os.environ.get("FORWARD_LINEAGE_DATA")
    return (Path(root) if root else Path.cwd() / ".data") / "walmart" / f"stores{stores}-seed{seed}"


def generate(stores: int = SMALL, seed: int = SEED, folder: Path | None = None) -> Path:
    """Return a folder with the four tables as `<table>.parquet`, drawing them when they are not there.

    Fewer stores are a part of more: a store has the same visits and scans in both, and store 126 is always there.

    Args:
        stores: 1 to 130; 130 is the paper's size, 1,462,254 scans.
        seed: the same seed draws the same rows, byte for byte with the same NumPy and Arrow.
        folder: where the files go; `default_folder(stores, seed)` when not given.

    Raises:
        BadArgumentError: the number of stores is out of range.
        DamagedError: the folder holds something else.

    """
    if not 1 <= stores <= STORES:
        raise BadArgumentError(f"{stores} stores cannot be drawn", instead=f"Ask for 1 to {STORES}.")
    folder = folder or default_folder(stores, seed)
    mark = json.dumps({"stores": stores, "seed": seed, "version": _VERSION}).encode()
    if _holds(folder, mark):
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        _write(unfinished, stores, seed, mark)
        try:
            unfinished.replace(folder)
        except OSError:  # another process was faster; its rows are the same
            if not _holds(folder, mark):
                raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return folder


def _holds(folder: Path, mark: bytes) -> bool:
    """Say whether the folder has these very tables; False when it is not there or empty.

    Raises:
        DamagedError: it holds something, but not these.

    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return False
    for table in TABLES:
        try:
            found = (pq.read_schema(folder / f"{table}.parquet").metadata or {}).get(_MARK)
        except (OSError, ValueError):  # missing, truncated, not Parquet
            found = None
        if found != mark:
            raise DamagedError(
                f"{folder} holds something else than the demo's data {mark.decode()}: see {table}.parquet",
                instead="Delete the folder to have them drawn anew, or give another folder.",
            )
    return True


def _write(folder: Path, stores: int, seed: int, mark: bytes) -> None:
    items = draw_items(np.random.default_rng([seed, 0]))
    scans = scans_of_stores(np.random.default_rng([seed, 1]))
    chosen = _choose_stores(np.random.default_rng([seed, 2]), stores)
    days = []
    with Progress(console=Console(stderr=True), transient=True) as progress:
        for store in progress.track(chosen, description=f"drawing a day of {stores} stores"):
            random = np.random.default_rng([seed, 3, store])  # of its own, so that no other store disturbs it
            days.append(draw_day(random, store, int(scans[store - 1]), items))
    visits, sold = _visits_and_scans(days, items)
    tables = {
        "store_information": _store_information(np.random.default_rng([seed, 4]), chosen),
        "item_description": _item_description(items),
        "store_visits": visits,
        "item_scan": sold,
    }
    for name, table in tables.items():
        pq.write_table(table.replace_schema_metadata({_MARK: mark}), folder / f"{name}.parquet")


def _choose_stores(random: np.random.Generator, stores: int) -> list[int]:
    others = [int(store) for store in random.permutation(np.arange(1, STORES + 1)) if store != STORE]
    return sorted([STORE, *others[: stores - 1]])


def _store_information(random: np.random.Generator, chosen: Sequence[int]) -> pa.Table:
    places = [(city, state) for state, cities in CITIES.items() for city in cities]
    places += [place for place in places if place[0] in TWO_STORES]
    order = random.permutation(len(places))
    mine = [places[order[store - 1]] for store in chosen]
    return pa.table(
        {
            "store_nbr": pa.array(chosen, pa.int32()),
            "store_name": [f"{city} #{store}" for store, (city, _) in zip(chosen, mine, strict=True)],
            "city": [city for city, _ in mine],
            "state": [state for _, state in mine],
        }
    )


def _item_description(items: Items) -> pa.Table:
    table = pa.table(
        {
            "item_nbr": pa.array(np.append(items.number[: items.described], BAD_RECORD.item_nbr), pa.int32()),
            "category_nbr": pa.array(np.append(items.category[: items.described], BAD_RECORD.category_nbr), pa.int32()),
            "primary_desc": [*items.descriptions(), BAD_RECORD.primary_desc],
            "unit_retail_amount": _dollars(np.append(items.price[: items.described], BAD_RECORD.price)),
        }
    )
    return table.sort_by("item_nbr")


def _visits_and_scans(days: Sequence[Day], items: Items) -> tuple[pa.Table, pa.Table]:
    """Put the stores' days together in the order of time, as the tills of a whole chain would report them."""
    store = np.concatenate([np.full(len(day.visit_time), day.store) for day in days])
    time = np.concatenate([day.visit_time for day in days])
    number = np.concatenate([day.store * 1_000_000 + np.arange(len(day.visit_time)) for day in days])
    item = np.concatenate([day.item for day in days])
    quantity = np.concatenate([day.quantity for day in days])
    first = np.cumsum([0, *(len(day.visit_time) for day in days)])
    visit = np.concatenate([day.scan_visit + at for day, at in zip(days, first, strict=False)])
    amount = price_of(items, item) * quantity

    total = np.bincount(visit, weights=amount, minlength=len(store)).astype(np.int64)
    by_time = np.lexsort((number, time))
    visits = pa.table(
        {
            "visit_nbr": pa.array(number[by_time], pa.int32()),
            "store_nbr": pa.array(store[by_time], pa.int32()),
            "transaction_time": pa.array(_DAY + time[by_time].astype("timedelta64[s]"), pa.timestamp("us")),
            "total_visit_amount": _dollars(total[by_time]),
        }
    )
    order = np.lexsort((np.arange(len(visit)), number[visit], time[visit]))
    scans = pa.table(
        {
            "visit_nbr": pa.array(number[visit][order], pa.int32()),
            "store_nbr": pa.array(store[visit][order], pa.int32()),
            "item_nbr": pa.array(number_of(items, item[order]), pa.int32()),
            "item_quantity": pa.array(quantity[order], pa.int32()),
            "total_scan_amount": _dollars(amount[order]),
        }
    )
    return visits, scans


def _dollars(cents: npt.NDArray[np.int64]) -> pa.Array:
    """Return amounts in cents as DECIMAL(9, 2), exactly: a decimal's bytes are its unscaled integer, 128 bits wide."""
    halves = np.stack([cents, cents >> 63], axis=1).astype("<i8")
    return pa.Array.from_buffers(pa.decimal128(9, 2), len(cents), [None, pa.py_buffer(np.ascontiguousarray(halves))])
