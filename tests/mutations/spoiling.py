"""Ways to spoil bytes and JSON: what accidents do, and what somebody does who knows the format."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

#: Numbers at which something changes: signs, widths, what an array can hold.
EXTREMES = (0, 1, 2, 127, 128, 255, 2**16, 2**27, 2**27 + 1, 2**31 - 1, 2**31, 2**32, 2**60, 2**62, 2**63 - 1, 2**63)


def varint(number: int) -> bytes:
    """Return unsigned LEB128, of any length."""
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def spoilt(data: bytes, dice: Random, others: Sequence[bytes]) -> bytes:
    """Change some bytes in one to three ways.

    Args:
        data: the bytes.
        dice: says which and how.
        others: of the same kind, to be spliced in.

    """
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        data = dice.choice(_WAYS)(data, dice, others) if data else dice.randbytes(dice.randrange(4))
    return data


Way = Callable[[bytes, Random, Sequence[bytes]], bytes]


def _flip(data: bytes, dice: Random, _: Sequence[bytes]) -> bytes:
    at = dice.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << dice.randrange(8)]) + data[at + 1 :]


def _overwrite(data: bytes, dice: Random, _: Sequence[bytes]) -> bytes:
    at = dice.randrange(len(data))
    return data[:at] + bytes([dice.choice((0, 1, 2, 0x7F, 0x80, 0xFF, dice.randrange(256)))]) + data[at + 1 :]


def _cut(data: bytes, dice: Random, _: Sequence[bytes]) -> bytes:
    return data[: dice.randrange(len(data))]


def _insert(data: bytes, dice: Random, _: Sequence[bytes]) -> bytes:
    at = dice.randrange(len(data) + 1)
    return data[:at] + dice.randbytes(dice.randrange(1, 5)) + data[at:]


def _delete(data: bytes, dice: Random, _: Sequence[bytes]) -> bytes:
    at = dice.randrange(len(data))
    return data[:at] + data[at + dice.randrange(1, 5) :]


def _repeat(data: bytes, dice: Random, _: Sequence[bytes]) -> bytes:
    at = dice.randrange(len(data))
    end = at + dice.randrange(1, 20)
    return data[:end] + data[at:end] * dice.randrange(1, 4) + data[end:]


def _splice(data: bytes, dice: Random, others: Sequence[bytes]) -> bytes:
    other = dice.choice(others)
    return data[: dice.randrange(len(data) + 1)] + other[dice.randrange(len(other) + 1) :]


def _extreme_varint(data: bytes, dice: Random, _: Sequence[bytes]) -> bytes:
    at = dice.randrange(len(data))
    end = at + 1
    while end < len(data) and data[end - 1] >= 128:
        end += 1
    return data[:at] + varint(dice.choice(EXTREMES)) + data[end:]


def _extreme_word(data: bytes, dice: Random, _: Sequence[bytes]) -> bytes:
    width = dice.choice((2, 4, 8))
    at = dice.randrange(len(data))
    number = dice.choice(EXTREMES) % (1 << 8 * width)
    return data[:at] + number.to_bytes(width, "little") + data[at + width :]


_WAYS: tuple[Way, ...] = (
    _flip,
    _flip,
    _overwrite,
    _overwrite,
    _cut,
    _insert,
    _delete,
    _repeat,
    _splice,
    _extreme_varint,
    _extreme_word,
)

_VALUES = (
    None, True, False, -1, *EXTREMES, 2**64, 10**400, -(2**63), 0.5, 1e308, float("nan"), float("inf"), "", "x", "..",
    "../../../../etc/passwd", "/etc/passwd", "data-000000000000", "rows/../../../x", "a\0b", "\x1b[2J", "\ud800", "😀",
    "`; DROP TABLE t --", "file:///etc/passwd", "s3a://b/c", "x" * 5000, [], {}, [[]], [None], {"x": 1},
)  # fmt: skip


def spoilt_json(value: Any, dice: Random, others: Sequence[Any]) -> Any:
    """Change one to three things in JSON: values, names, how many there are.

    Args:
        value: the JSON, which is changed in place.
        dice: says which and how.
        others: of the same kind, to be spliced in.

    """
    root = {"": value}
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        holder, key = dice.choice(_places(root))
        match dice.randrange(8):
            case 0 | 1 | 2:
                holder[key] = copy.deepcopy(dice.choice(_VALUES))
            case 3:
                holder[key] = copy.deepcopy(dice.choice(others))
            case 4:
                other, place = dice.choice(_places(root))
                holder[key] = copy.deepcopy(other[place])
            case 5:
                del holder[key]
                root = root or {"": {}}
            case 6:
                _twice(holder, key, dice)
            case _:
                holder[key] = _near(holder[key], dice)
    return root.get("")


def _twice(holder: Any, key: Any, dice: Random) -> None:
    if isinstance(holder, list):
        holder.insert(key, copy.deepcopy(holder[key]))
    else:
        holder[dice.choice(("", "x", f"{key}_", key.upper()))] = copy.deepcopy(holder[key])


def _near(value: Any, dice: Random) -> Any:
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int):
        return value + dice.choice((-1, 1, -(2**31), 2**31))
    if isinstance(value, str):
        return dice.choice(
            (value.upper(), value[:-1], value + "/", "../" + value, f"`{value}", value + "\0", value * 2)
        )
    return json.dumps(value) if isinstance(value, list | dict) else str(value)


def parts(value: Any) -> list[Any]:
    """Every value in JSON."""
    return [holder[key] for holder, key in _places(value)]


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every (holder, key) in JSON."""
    found: list[tuple[Any, Any]] = []
    ahead = [value]
    while ahead:
        holder = ahead.pop()
        keys = range(len(holder)) if isinstance(holder, list) else list(holder)
        found += [(holder, key) for key in keys]
        ahead += [holder[key] for key in keys if isinstance(holder[key], list | dict)]
    return found
