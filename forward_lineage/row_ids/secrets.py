"""Secrets in reader options: a manifest keeps where a secret is found, never the secret.

The rule is about an option whose name has a word such as password, secret, token, key or credential. It is also about a
URL with a password or a user in it. Both must take the secret from the environment, as ``${env:NAME}``. The reference
is kept, and resolved whenever files are read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

from udafs.errors import BadArgumentError

#: What stands in place of a secret that an earlier release wrote into a manifest.
REDACTED = "(redacted)"
_REFERENCE = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_SECRET_WORD = re.compile(
    r"pass(?:word|wd|phrase)?|pwd|secrets?|tokens?|keys?|apikey|credentials?|auth(?:orization)?|signature|sas|cookie",
    re.IGNORECASE,
)
_RUN_TOGETHER = re.compile(
    r"password|passwd|passphrase|secret|token|credential|apikey|accesskey|privatekey", re.IGNORECASE
)
_USER_IN_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#\s@]*[^/?#\s@:][^/?#\s@]*@")
# The container of Azure's stores stands where others have a user.
_CONTAINER = re.compile(r"^(?:abfss?|wasbs?)://[A-Za-z0-9$-]+@")
# What stands behind a colon and is no port may be a password, with a slash in it perhaps.
_NO_PORT = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://[^/?#\s\[]*:(?!\d{1,5}(?:[/?#]|$))")
_IN_URL = re.compile(r"[?&;,\s]([A-Za-z0-9_.-]+)=([^&;,\s]+)")


def check_options(options: Mapping[str, Any]) -> dict[str, str]:
    """Return reader options as a manifest keeps them.

    Raises:
        BadArgumentError: one of them holds a secret, and not by reference.

    """
    for name, value in options.items():
        if gives_away(name, str(value)):
            raise BadArgumentError(
                f"option {name} holds a secret, which a manifest would keep",
                instead=f'Put it into the environment, and say options={{"{name}": "${{env:NAME}}"}}: the reference is '
                "kept, and looked up whenever files are read.",
            )
    return {name: str(options[name]) for name in sorted(options)}


def check_path(path: str) -> None:
    """Check that a path names no user and no password.

    Raises:
        BadArgumentError: it does.

    """
    if _has_user(path):
        raise BadArgumentError(
            "path= holds a user or a password, which a manifest would keep",
            instead="Leave it out, and let Spark's configuration say it (spark.hadoop.…).",
        )


def check_addresses(addresses: Iterable[str]) -> None:
    """Check that the files of a table have no user and no password in their addresses.

    Raises:
        BadArgumentError: one has; the message does not say which.

    """
    if any(map(_has_user, {"/".join(address.split("/", 3)[:3]) for address in addresses})):
        raise BadArgumentError(
            "the address of a file holds a user or a password, which a manifest would keep",
            instead="Make the table anew under an address without it, and let Spark's configuration say it "
            "(spark.hadoop.…).",
        )


def _has_user(path: str) -> bool:
    if "://" not in path:
        return False
    return gives_away("", _CONTAINER.sub("abfs://", path)) or _NO_PORT.match(path) is not None


def resolved_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return reader options with what their references stand for.

    Raises:
        BadArgumentError: the environment has no such variable.

    """
    return {name: _resolved(name, value) if isinstance(value, str) else value for name, value in options.items()}


def redacted(source: Mapping[str, Any]) -> dict[str, Any]:
    """Return a manifest's account of a source without secrets, which earlier releases kept as they were given."""
    if isinstance(source.get("copied"), dict):
        source = {**source, "copied": redacted(source["copied"])}
    options = source.get("options")
    if not isinstance(options, dict):
        return dict(source)
    return {
        **source,
        "options": {name: REDACTED if gives_away(name, str(options[name])) else options[name] for name in options},
    }


def same_options(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Tell whether files are read in the same way, whatever secrets open them."""
    return one.keys() == other.keys() and all(
        one[name] == other[name] or REDACTED in (one[name], other[name]) for name in one
    )


def _resolved(name: str, value: str) -> str:
    def look_up(reference: re.Match[str]) -> str:
        if reference[1] not in os.environ:
            raise BadArgumentError(
                f"option {name} refers to the environment variable {reference[1]}, which is not set",
                instead="Set it where this program runs.",
            )
        return os.environ[reference[1]]

    return _REFERENCE.sub(look_up, value)


def gives_away(name: str, value: str) -> bool:
    """Tell whether the value of an option, or of a setting, gives a secret away."""
    rest = _REFERENCE.sub("", value)
    if rest and rest != REDACTED and _is_secret(name):
        return True
    return bool(_USER_IN_URL.search(rest)) or any(_is_secret(key) for key, _ in _IN_URL.findall(rest))


def _is_secret(name: str) -> bool:
    return any(map(_SECRET_WORD.fullmatch, _WORD.findall(name))) or _RUN_TOGETHER.search(name) is not None
