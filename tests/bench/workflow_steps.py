"""The steps of `workflows`, as their author would write them; `$name` is how often that step was edited."""

from __future__ import annotations

from pathlib import Path

PEOPLE = 60_000


def write_people(folder: str) -> None:
    """Write lines of comma-separated values about people, as the census has them."""
    import numpy as np  # noqa: PLC0415
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    chosen = np.random.default_rng(7)
    age, hours = chosen.integers(17, 90, PEOPLE), chosen.integers(1, 99, PEOPLE)
    work, school, job, home = (chosen.integers(0, most, PEOPLE) for most in (8, 16, 14, 40))
    rich = (age / 90 + school / 16 + hours / 99 + chosen.normal(0, 0.4, PEOPLE)) > 1.6
    columns = (age, hours, work, school, job, home, rich.astype(int))
    lines = [",".join(map(str, each)) for each in zip(*(column.tolist() for column in columns), strict=True)]
    Path(folder).mkdir()
    pq.write_table(pa.table({"id": np.arange(PEOPLE), "line": lines}), f"{folder}/people.parquet")


_FEATURES = {
    "feature0": "age + $feature0",
    "feature1": "hours * (1 + $feature1)",
    "feature2": "work",
    "feature3": "school - $feature3",
    "feature4": "job",
    "feature5": "home % 7",
}
_CENSUS = """
import numpy as np

@step(returns="query")
def rows(people):
    fields = "age hours work school job home rich".split()
    columns = ", ".join(f"CAST(split(trim(line), ',')[{at}] AS INT) AS {each}" for at, each in enumerate(fields))
    return f"SELECT id, {columns} FROM {people} WHERE line RLIKE '^([0-9]+,){{6}}[01]$$'"
"""
_FEATURE = """
@step(returns="query")
def {name}(rows):
    return f"SELECT id, {sql} AS value FROM {{rows}}"
"""
_MODEL = """
@step
def income(rows, feature0, feature1, feature2, feature3, feature4, feature5):
    rich = dict((row[0], row[-1]) for row in rows.rows())
    every = [dict(each.rows()) for each in (feature0, feature1, feature2, feature3, feature4, feature5)]
    ids = sorted(rich)
    x = np.array([[values[at] for values in every] for at in ids], dtype="f8")
    hot = [np.eye(16)[x[:, at].astype(int) % 16] for at in (2, 4, 5)]
    scaled = (x - x.mean(axis=0)) / x.std(axis=0) * (1 + $income)
    return {"x": np.concatenate([scaled, scaled ** 2, *hot], axis=1), "y": np.array([rich[at] for at in ids], "f8")}

@step
def model(income, rate=0.5 + $model):
    x, y = income["x"], income["y"]
    w = np.zeros(x.shape[1])
    for turn in range(400):
        w = w - rate * x.T @ (1 / (1 + np.exp(-(x @ w))) - y) / len(y)
    return w

@step
def predictions(model, income):
    return (income["x"] @ model > 0.1 * $predictions).astype("i1")

@step
def checked(predictions):
    return ($checked, float(predictions.mean()))
"""
_GENOMICS = """
import numpy as np

@step
def words():
    chosen = np.random.default_rng(7)
    drawn = (chosen.zipf(1.3, 400_000) + $words) % 3000
    text = " ".join(f"w{number}," for number in drawn.tolist())
    return [word.strip(",.").lower() for word in text.split()]

@step
def genes(words):
    known = {f"w{number}": number for number in range(0, 3000, 3)}
    found = [known.get(word, -1 - $genes) for word in words]
    pairs = []
    for at, gene in enumerate(found):
        if gene >= 0:
            pairs += [(gene // 3, other // 3) for other in found[at + 1:at + 6] if other >= 0]
    return np.array(pairs, dtype="i4")

@step
def vectors(genes):
    counts = np.zeros((1000, 1000))
    np.add.at(counts, (genes[:, 0], genes[:, 1]), 1.0)
    counts = np.log1p(counts + counts.T)
    u = np.random.default_rng(3 + $vectors).normal(0, 0.1, (1000, 48))
    for turn in range(160):
        u = u - 0.0005 * ((u @ u.T - counts) @ u)
    return u

@step
def clusters(vectors):
    centres = vectors[:12 + $clusters].copy()
    for turn in range(250):
        near = ((vectors[:, None, :] - centres[None]) ** 2).sum(axis=2).argmin(axis=1)
        centres = np.stack([vectors[near == at].mean(axis=0) if (near == at).any() else centres[at]
                            for at in range(len(centres))])
    return near

@step
def neighbours(vectors):
    sides = vectors / (1e-9 + np.linalg.norm(vectors, axis=1, keepdims=True))
    closest = []
    for turn in range(8):
        closest = np.argsort(-(sides @ sides.T), axis=1)[:, 1:6 + $neighbours]
    return closest

@step
def report(clusters, neighbours):
    same = clusters[neighbours] == clusters[:, None]
    return ($report, round(float(same.mean()), 9))
"""
_EXTRACTION = """
import re
import numpy as np

@step
def parsed():
    chosen = np.random.default_rng(7)
    names = [f"Name{number}" for number in range(400)]
    plain = ["walked", "and", "married", "the", "to", "quickly", "wife", "husband", "of", "town", "saw", "in"]
    tagged = []
    for article in range(9000):
        drawn = chosen.integers(0, 60, 45).tolist()
        text = " ".join(names[(number * 7 + article) % 400] if number < 6 else plain[number % 12] for number in drawn)
        tags = []
        for word in re.findall(r"[A-Za-z]+[0-9]*", text):
            if re.fullmatch(r"[A-Z][a-z]+[0-9]+", word):
                tags.append((word, "NNP"))
            elif re.search(r"(ed|ing)$$", word):
                tags.append((word, "VB"))
            elif re.search(r"ly$$", word):
                tags.append((word, "RB"))
            else:
                tags.append((word, "NN" if re.match(r"[a-z]{4,}", word) else "IN"))
        tagged.append(" ".join(f"{word}/{tag}" for word, tag in tags))
    return tagged

@step
def candidates(parsed):
    found = []
    for number, article in enumerate(parsed):
        tokens = [token.rpartition("/") for token in article.split()]
        places = [at for at, token in enumerate(tokens) if token[2] == "NNP"]
        found += [(number, one, other) for one, other in zip(places, places[1:]) if other - one < 9 + $candidates]
    return np.array(found, dtype="i4")

@step
def features(candidates, parsed):
    rows, last, tokens = [], -1, []
    for number, one, other in candidates.tolist():
        if number != last:
            tokens, last = [token.rpartition("/") for token in parsed[number].split()], number
        between = tokens[one + 1:other]
        row = [f"LENGTH_{len(between) + $features}", "WORD_SEQ_[" + " ".join(token[0] for token in between) + "]"]
        row.append("POS_SEQ_[" + " ".join(token[2] for token in between) + "]")
        row += [f"NGRAM_1_[{token[0]}]" for token in between[:3]]
        row += [f"W_LEFT_1_[{token[0]}]" for token in tokens[max(0, one - 1):one]]
        rows.append(";".join(row))
    return rows

@step
def labels(candidates):
    known = set((one * 31 + other) % 97 for one in range(20 + $labels) for other in range(20))
    return np.array([float((one * 31 + other) % 97 in known and number % 3 > 0)
                     for number, one, other in candidates.tolist()])

@step
def model(features, labels):
    x = np.zeros((len(features), 64))
    for at, row in enumerate(features):
        for name in row.split(";"):
            x[at, sum(name.encode()) % 64] += 1.0
    w = np.zeros(64)
    for turn in range(100):
        w = w - 0.05 * x.T @ (1 / (1 + np.exp(-(x @ w))) - labels) / len(labels)
    return w

@step
def checked(model):
    return ($checked, [round(float(each), 9) for each in model])
"""
_MNIST = """
import numpy as np

@step(chance=True)
def shuffled():
    chosen = np.random.default_rng()
    images = np.random.default_rng(7).random((6000, 784), dtype="f4")
    order = chosen.permutation(6000)
    return {"images": images[order], "digits": (order % 10).astype("i1"), "signs": chosen.choice([-1.0, 1.0], 784)}

@step
def transformed(shuffled):
    waves = np.fft.rfft(shuffled["images"] * shuffled["signs"].astype("f4"), n=1024, axis=1)
    return {"x": np.maximum(waves.real, 0.1 * $transformed).astype("f4"), "digits": shuffled["digits"]}

@step
def model(transformed):
    x, y = transformed["x"].astype("f8"), np.eye(10)[transformed["digits"]]
    w = np.linalg.solve(x.T @ x + (1.0 + $model) * np.eye(x.shape[1]), x.T @ y)
    for turn in range(30):
        w = w - 1e-9 * (x.T @ (x @ w - y))
    return w

@step
def predictions(model, transformed):
    return (transformed["x"] @ model + 0.0 * $predictions).argmax(axis=1)

@step
def checked(predictions):
    return ($checked, len(predictions))
"""
_ALL_FEATURES = "".join(_FEATURE.format(name=name, sql=sql) for name, sql in _FEATURES.items())

SOURCES = {
    "census": _CENSUS + _ALL_FEATURES + _MODEL,
    "genomics": _GENOMICS,
    "information extraction": _EXTRACTION,
    "MNIST": _MNIST,
}
