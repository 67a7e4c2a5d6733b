"""Packaging. Tool settings live in pyproject.toml."""

import re
from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent
# Read as text: importing the package needs what this file is about to install.
(VERSION,) = re.findall(r'^__version__ = "(.+?)"', (HERE / "forward_lineage" / "__init__.py").read_text(), re.MULTILINE)

RUNTIME = [
    "pyspark>=3.5,<4.4",  # the kernel is compiled against Catalyst internals
    # What it prints is part of our contract. 30.30 is the first that reads `TABLE t` as a query; under 30.24, UNION and
    # INTERSECT bind in another order.
    "sqlglot>=30.30,<30.31",
    "sqlparse>=0.5",
    "pyarrow>=17",
    "numpy>=2.0",
    "dd>=0.6",
    "click>=8.1",
    "rich>=13.7",
    "prompt_toolkit>=3.0.47,<4",  # the shell's prompt: history, completion, lines
]
DRAWING = [
    "networkx>=3.2",
    "matplotlib>=3.9",
    "pygraphviz>=2.0.1",  # from here on its wheels bring Graphviz
]
STEPS = ["networkx>=3.2"]  # the least cut, from which the plan of a pipeline is read
TPCH = ["tpchgen-cli>=4.0"]
ICEBERG = ["fastavro>=1.9,<2"]  # the Avro files in which Iceberg says which files a table has
PANDAS = ["pandas>=2.2,<3"]  # for `toPandas`, which Spark brings no pandas for
CONNECT = [  # what PySpark's own client of Spark Connect asks for
    "grpcio>=1.76,<2",
    "grpcio-status>=1.76,<2",
    "googleapis-common-protos>=1.71,<2",
    "zstandard>=0.25,<1",
    *PANDAS,
]
SKETCHES = ["z3-solver>=4.13"]  # decides what a safe sketch takes for granted
FILTERS = ["scikit-learn>=1.7,<2"]  # trains learned filters, with weights of samples
MODELS = FILTERS  # estimators that are fitted on tracked arrays
S3 = ["obstore>=0.12,<1"]  # homes in object stores, by conditional writes
OPENLINEAGE = ["openlineage-python>=1.40,<2"]
LABEXTENSION = "forward_lineage/notebooks/labextension"
NOTEBOOK = ["ipython>=8.18,<10"]
# For projects of dbt over a Thrift server. Not among DEV: it asks for older packages than mypy does; tests give it an
# environment of its own (tests/walmart_demo/dbt_program.py).
DBT = ["dbt-core>=1.9,<1.12", "dbt-spark[PyHive]>=1.9,<1.12"]
PAGES = ["bokeh>=3.9,<3.10"]  # a patch series: our page's script speaks to its models in the browser
DEV = [
    *DRAWING,
    *STEPS,
    *TPCH,
    *PAGES,
    *NOTEBOOK,
    *OPENLINEAGE,
    *FILTERS,
    "mkdocs-material>=9.6,<10",  # the pages as a site
    "mkdocstrings[python]>=0.30,<2",
    "jsonschema>=4.20,<5",  # whether our facet is what its schema says
    "ipykernel>=6.29,<8",  # notebooks are run as people run them
    "nbclient>=0.10,<1",
    "nbformat>=5.10,<6",
    "nbconvert>=7.16,<8",
    *ICEBERG,
    "deltalake>=1.1,<2",  # writes and reads Delta tables, in tests: another implementation than ours
    "pyiceberg[sql-sqlite]>=0.10,<0.13",  # the same of Iceberg; a patch series: its Avro schemas are used
    *CONNECT,
    *S3,
    *SKETCHES,
    *FILTERS,
    "moto[server]>=5.1,<6",  # a server that speaks S3, on this machine
    "selenium>=4.30",  # pages are tried in a real browser, which `make` installs: tests/browser.py
    "axe-core-python>=0.1",  # what is hard to use without sight or mouse
    "pyroaring>=1.0",  # the rival of our lineage sets, in tests and benches
    "duckdb>=1.4",  # rivals of our linked views, in benches
    "polars>=1.30",
    "desbordante>=2.5",  # rival of our dependencies, in benches
    "pexpect>=4.9,<5",  # the shell is tried in a terminal
    "pytest>=8.3",
    "pytest-timeout>=2.3",
    "pytest-xdist>=3.6",
    "hypothesis>=6.100",
    "scipy>=1.13",  # the best way to keep results of steps, to compare ours with
    "islpy>=2025.1",  # relations of integers, to compare those between arrays with
    "ruff>=0.14",
    "typos>=1.40,<2",  # spelling of code and pages
    "mypy>=1.18",
]

setup(
    name="forward_lineage",
    version=VERSION,
    description="Spark SQL whose every result row says which base rows it was made of",
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    author="forward_lineage contributors",
    license="Apache-2.0",
    license_files=["LICENSE"],
    keywords=["data lineage", "provenance", "spark", "sql"],
    classifiers=[
        "Development Status :: 4 - Beta",
        "Intended Audience :: Developers",
        "Intended Audience :: Science/Research",
        "Operating System :: POSIX",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Scala",
        "Topic :: Database",
        "Topic :: Scientific/Engineering :: Information Analysis",
        "Typing :: Typed",
    ],
    python_requires=">=3.11",
    packages=find_packages(
        include=[
            f"{top}{rest}"
            for top in ("forward_lineage", "udafs", "rewrites")  # not the demo and query folders: names of anybody's
            for rest in ("", ".*")
        ]
    ),
    package_data={
        "udafs": ["scala/**/*.scala", "FORMAT.md", "py.typed"],
        "rewrites": ["py.typed"],
        "forward_lineage": [
            "py.typed",
            "spark/log4j2.properties",
            "notebooks/log4j2.properties",
            "notebooks/labextension/**/*",
            "pages/static/*",
            "drawing/static/*",
            "explaining/static/*",
            "openlineage/*.json",
        ],
    },
    data_files=[  # where JupyterLab looks for extensions
        (f"share/jupyter/labextensions/forward_lineage{below}", [f"{LABEXTENSION}{below}/{name}"])
        for below, name in (("", "package.json"), ("/static", "marks.js"))
    ],
    install_requires=RUNTIME,
    extras_require={
        "drawing": DRAWING,
        "steps": STEPS,
        "tpch": TPCH,
        "pages": PAGES,
        "notebook": [*NOTEBOOK, *DRAWING, *PANDAS],
        "openlineage": OPENLINEAGE,
        "iceberg": ICEBERG,
        "connect": CONNECT,
        "s3": S3,
        "sketches": SKETCHES,
        "filters": FILTERS,
        "models": MODELS,
        "dbt": DBT,
        "dev": DEV,
    },
    entry_points={"console_scripts": ["forward-lineage = forward_lineage.__main__:main"]},
)
