"""Find Java before Spark fails to: one clear line when it is missing or too old."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from udafs.errors import SetupError

OLDEST = 17  # Spark 4 does not start on anything older
_INSTALL = f"Install a Java {OLDEST} or newer runtime, or point JAVA_HOME at one."


def find_java() -> Path:
    """Return the `java` that Spark will start: $JAVA_HOME/bin/java, else the one on PATH.

    Raises:
        SetupError: there is none, or it is older than Java 17.

    """
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    if found is None:
        where = f"in JAVA_HOME={home}" if home else "on PATH"
        raise SetupError(f"Spark needs Java {OLDEST} or newer, and there is no java {where}", instead=_INSTALL)
    version = _major_version(found)
    if version < OLDEST:
        raise SetupError(f"Spark needs Java {OLDEST} or newer, and {found} is Java {version}", instead=_INSTALL)
    return Path(found)


def _major_version(java: str) -> int:
    printed = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    match = re.search(r'version "(\d+)(?:\.(\d+))?', printed)
    if match is None:
        raise SetupError(f"{java} -version printed no version", instead=_INSTALL)
    first, second = int(match[1]), match[2]
    return int(second) if first == 1 and second else first  # "1.8.0" was Java 8


if __name__ == "__main__":
    try:
        find_java()
    except SetupError as error:
        sys.exit(str(error))
