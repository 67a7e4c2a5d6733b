"""Pictures: the pipeline of saved results with an impact painted in, and the roBDD of a row's lineage.

Graphviz's dot lays layers out (`layered`), matplotlib draws and writes the file. Both come with the extra `drawing`, so
this file imports neither. Nothing in this folder knows of Spark or of the store.
"""

from __future__ import annotations

from importlib import import_module

from udafs.errors import SetupError

#: What only drawing needs: the extra `drawing` in setup.py.
PACKAGES = ("matplotlib", "networkx", "pygraphviz")


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
