"""Pictures: the pipeline of saved results with an impact painted in, and the roBDD of a row's lineage.

Graphviz's dot lays layers out (`layered`), matplotlib draws and writes the file. Both come with the extra `drawing`, so
this file imports neither. Nothing in this folder knows of Spark or of the store.
"""

from __future__ import annotations

from pathlib import Path

from forward_lineage.extras import import_extra
from udafs.errors import BadArgumentError

FORMATS = (".svg", ".pdf", ".png")
PAGE = ".html"

#: What only drawing needs: the extra `drawing` in setup.py.
PACKAGES = ("matplotlib", "networkx", "pygraphviz")


def check_format(file: Path, *, or_page: bool = False) -> str:
    """Return the ending of a picture's file, in lower case.

    Args:
        file: where it goes.
        or_page: whether it may be a page as well.

    Raises:
        BadArgumentError: the name ends in none of what it may be.

    """
    kind = file.suffix.lower()
    known = (*FORMATS, PAGE) if or_page else FORMATS
    if kind not in known:
        what = "a picture or a page" if or_page else "a picture"
        endings = f"{', '.join(known[:-1])} or {known[-1]}"
        raise BadArgumentError(f"{file} is not the name of {what}", instead=f"End it in {endings}.")
    return kind


def check_installed() -> None:
    """See to it that pictures can be drawn.

    Raises:
        SetupError: a package of the extra `drawing` is not installed, or cannot be loaded here.

    """
    for package in PACKAGES:
        import_extra(package, "drawing", "drawing needs")
