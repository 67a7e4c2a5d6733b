"""Pictures: the pipeline of saved results with an impact painted in, and the roBDD of a row's lineage.

Graphviz's dot lays layers out (`layered`), matplotlib draws and writes the file. Both come with the extra `drawing`, so
this file imports neither. Nothing in this folder knows of Spark or of the store.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from udafs.errors import BadArgumentError, SetupError

FORMATS = (".svg", ".pdf", ".png")
PAGE = ".html"

#: What only drawing needs: the extra `drawing` in setup.py.
PACKAGES = ("matplotlib", "networkx", "pygraphviz")


def check_format(file: Path) -> str:
    """Return the ending of a picture's file, in lower case.

    Raises:
        BadArgumentError: the name does not end in .svg, .pdf or .png.

    """
    kind = file.suffix.lower()
    if kind not in FORMATS:
        raise BadArgumentError(f"{file} is not the name of a picture", instead="End it in .svg, .pdf or .png.")
    return kind


def check_installed() -> None:
    """See to it that pictures can be drawn.

    Raises:
        SetupError: a package of the extra `drawing` is not installed, or cannot be loaded here.

    """
    for package in PACKAGES:
        try:
            import_module(package)
        except ImportError as error:
            raise SetupError(
                f"drawing needs {package}: {error}",
                instead="Run: pip install 'forward_lineage[drawing]'",
            ) from None
