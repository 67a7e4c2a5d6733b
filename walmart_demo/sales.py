"""One store's day: who came when, and what was scanned at the till."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from walmart_demo.items import BAD_RECORD, CATEGORIES, Items

STORES = 130
SCANS = 1_462_254  # of all 130 stores   [Zhang 2007, Table 9, Q5]
STORE = 126  # the store that Q1–Q4 ask about
STORE_SCANS = 14_898  # its scans   [Table 9, Q1]
STORE_DESCRIBED = 12_376  # its scans of items that item_description has   [Table 9, Q3]

_BASKET = 8.0  # scans of an average visit
_BAD_SCANS = 0.6  # scans of the item with the bad record in an average store …
_STORE_BAD_SCANS = 2  # … and in the store that Q1–Q4 ask about


@dataclass(frozen=True)
class Day:
    """Visits and scans of one store; the arrays of visits have one length, those of scans another.

    Attributes:
        store: store_nbr.
        visit_time: second of the day of each visit, ascending.
        scan_visit: the visit each scan belongs to, as a position in `visit_time`, ascending.
        item: the item of each scan, as a position in the items; -1 is the item with the bad record.
        quantity: how many of it.

    """

    store: int
    visit_time: npt.NDArray[np.int64]
    scan_visit: npt.NDArray[np.int64]
    item: npt.NDArray[np.int64]
    quantity: npt.NDArray[np.int64]


def scans_of_stores(random: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return how many scans each of the 130 stores has, store 1 first; they sum to SCANS."""
    share = random.lognormal(0, 0.35, STORES)
    share[STORE - 1] = 0
    exact = share / share.sum() * (SCANS - STORE_SCANS)
    scans: npt.NDArray[np.int64] = np.floor(exact).astype(np.int64)
    scans[STORE - 1] = STORE_SCANS
    # Largest remainders get the scans that rounding down has lost.
    lost = SCANS - int(scans.sum())
    scans[np.argsort(scans - exact, kind="stable")[:lost]] += 1
    return scans


def draw_day(random: np.random.Generator, store: int, scans: int, items: Items) -> Day:
    """Draw one store's day: its own taste in categories, baskets of geometric size, a midday and an evening peak."""
    described = round(scans * STORE_DESCRIBED / STORE_SCANS)
    bad = _STORE_BAD_SCANS if store == STORE else int(random.poisson(_BAD_SCANS))
    taste = random.lognormal(0, 0.5, len(CATEGORIES))
    weight = items.weight * taste[items.category - 1]
    known = _choose(random, weight[: items.described], described - bad)
    unknown = _choose(random, weight[items.described :], scans - described) + items.described
    item = random.permutation(np.concatenate([known, unknown, np.full(bad, -1)]))
    quantity = random.geometric(0.75, scans)
    quantity[item == -1] = 1

    sizes = random.geometric(1 / _BASKET, scans)
    visits = int(np.searchsorted(np.cumsum(sizes), scans)) + 1
    scan_visit = np.repeat(np.arange(visits), sizes[:visits])[:scans]
    midday = random.random(visits) < 0.6
    hours = np.where(midday, random.triangular(7, 12.5, 20, visits), random.triangular(14, 18, 23, visits))
    return Day(store, np.sort((hours * 3600).astype(np.int64)), scan_visit, item, quantity)


def _choose(random: np.random.Generator, weight: npt.NDArray[np.float64], count: int) -> npt.NDArray[np.int64]:
    upto = np.cumsum(weight)
    chosen: npt.NDArray[np.int64] = np.searchsorted(upto, random.random(count) * upto[-1], side="right")
    return chosen


def price_of(items: Items, item: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the price in cents of each scanned item."""
    return np.append(items.price, BAD_RECORD.price)[item]


def number_of(items: Items, item: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return item_nbr of each scanned item."""
    return np.append(items.number, BAD_RECORD.item_nbr)[item]
