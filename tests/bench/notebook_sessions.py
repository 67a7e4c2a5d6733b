"""Sessions of notebooks for `tests.bench.notebooks`: analyses of a table, edited and run again, from a seed.

The thesis replayed sessions of people that were found on GitHub, and reports the median of those that take more than
5 seconds. [Macke 2021, §7.6.1 and §7.6.4] Those are not at hand, so these are made by its rules: at least 50 cells are
run, of analyses of files of comma-separated values, none of which fails, connects to anything or asks the user. What a
cell does is chosen from what such analyses do: read, look, clean, group, join, fit, loop, with pandas, numpy, Arrow and
plain Python. Tables have 200,000 to 4,000,000 rows, so that a session takes about what those of the thesis took in the
mean, 4.7 seconds. No cell was left out for what it takes.
"""

from __future__ import annotations

import random
from pathlib import Path

Cells = tuple[tuple[str, str], ...]
"""Key and text of each cell that is run, in order; a key again is an edit of its cell."""

# What each cell needs, and its text; {a} is what an edit changes.
_CELLS: dict[str, tuple[tuple[str, ...], str]] = {
    "imports": (
        (),
        "import numpy as np\nimport pandas as pd\nimport pyarrow as pa\nimport pyarrow.compute as pc\nLEAST = {a}",
    ),
    "read": ((), "sales = pd.read_csv(PATH)\nsales.head({a})"),
    "look": ((), "sales.describe()"),
    "clean": ((), "clean = sales[sales.amount > LEAST].dropna()\nlen(clean)"),
    "derive": (("clean",), "rich = clean.assign(log=np.log1p(clean.amount * {a}), month=clean.day // 30)"),
    "group": (("clean",), "by_shop = clean.groupby('shop').agg({{'amount': 'mean', 'day': 'max'}})"),
    "top": (("group",), "top = by_shop.sort_values('amount').tail({a})\ntop"),
    "join": (("group",), "joined = clean.merge(by_shop, on='shop', suffixes=('', '_of_shop'))"),
    "far": (("join",), "far = joined[(joined.amount - joined.amount_of_shop).abs() > {a}]\nfar.shape"),
    "pivot": (("derive",), "wide = rich.pivot_table(index='shop', columns='month', values='amount', aggfunc='sum')"),
    "score": (
        (),
        "def score(amount, least={a}):\n    if amount > least:\n        return amount ** 0.5\n    return 0.0",
    ),
    "apply": (("clean", "score"), "scores = clean.amount[:20_000].map(score)\nscores.mean()"),
    "count": (
        ("clean",),
        "counts = {{}}\nfor shop, amount in zip(clean['shop'][:50_000], clean.amount[:50_000]):\n"
        "    counts[shop] = counts.get(shop, {a}) + amount\nmost = max(counts, key=counts.get)",
    ),
    "names": (("clean",), "names = ['shop ' + str(each) for each in clean['shop'][:30_000]]\nmax(names, key=len)"),
    "fit": (
        ("derive",),
        "x = rich[['amount', 'day', 'log']].to_numpy()\ny = rich['paid'].to_numpy()\n"
        "w = np.linalg.lstsq(x, y, rcond=None)[0]\nerror = np.abs(x @ w - y).mean()\nprint(round(error, {a}))",
    ),
    "descend": (
        ("fit",),
        "v = np.zeros(3)\nfor turn in range(60):\n    v = v - {a}e-7 * x.T @ (x @ v - y) / len(y)\nprint(v)",
    ),
    "bands": (
        ("clean",),
        "edges = np.quantile(clean.amount, np.linspace(0, 1, {a} + 2))\nnp.digitize(clean.amount, edges)",
    ),
    "bootstrap": (
        ("clean",),
        "means = [clean.amount.sample(2000, random_state=each).mean() for each in range({a} * 5)]\nnp.std(means)",
    ),
    "arrow": (
        ("clean",),
        "table = pa.Table.from_pandas(clean)\n"
        "per = table.group_by('shop').aggregate([('amount', 'sum')])\nper.num_rows",
    ),
    "ratio": (("arrow",), "ratio = pc.divide(table['amount'], pc.add(table['day'], {a}))\npc.mean(ratio).as_py()"),
    "summary": (("clean", "group"), "summary = {{'rows': len(clean), 'shops': len(by_shop), 'least': LEAST}}\nsummary"),
}


def session_of(seed: int) -> tuple[int, Cells]:
    """Return a session: the rows of its table, and its cells.

    Args:
        seed: which one.

    """
    chosen = random.Random(f"notebook {seed}")
    has = {"clean"} | {name for name, (needs, _) in _CELLS.items() if not needs or chosen.random() < 0.8}
    names = [name for name, (needs, _) in _CELLS.items() if name in has and _closure(needs) <= has]
    run = [(name, _text(name, chosen)) for name in names]
    while len(run) < 50:
        at = chosen.randrange(len(names))
        run.append((names[at], _text(names[at], chosen)))  # an edit, and perhaps some of what stands below
        run += [(name, dict(run)[name]) for name in names[at + 1 : at + 1 + chosen.choice((0, 0, 1, 2, 3))]]
    return int(200_000 * 20 ** chosen.random()), tuple(run)


def write_table(path: Path, rows: int) -> None:
    """Write the table of a session."""
    import numpy as np  # noqa: PLC0415
    import pandas as pd  # noqa: PLC0415

    drawn = np.random.default_rng(rows)
    amount, day, shop = drawn.gamma(2.0, 20.0, rows), drawn.integers(0, 365, rows), drawn.integers(0, 500, rows)
    frame = pd.DataFrame({"amount": amount.round(2), "day": day, "shop": shop})
    frame["paid"] = (0.9 * frame.amount + 0.01 * frame.day + drawn.normal(0, 1, rows)).round(2)
    frame.loc[drawn.random(rows) < 0.01, "paid"] = np.nan
    frame.to_csv(path, index=False)


def _closure(needs: tuple[str, ...]) -> set[str]:
    return set(needs).union(*(_closure(_CELLS[each][0]) for each in needs))


def _text(name: str, chosen: random.Random) -> str:
    return _CELLS[name][1].format(a=chosen.randint(1, 9))
