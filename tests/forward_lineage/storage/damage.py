"""Ways to damage a small file in one place."""

from __future__ import annotations

from collections.abc import Iterator


def damages(data: bytes) -> Iterator[bytes]:
    """Yield the file with a bit of each byte flipped, cut short at each byte, and told to be of another format."""
    for at, old in enumerate(data):
        yield data[:at] + bytes([old ^ 1 << at % 8]) + data[at + 1 :]
        yield data[:at]
    yield data.replace(b'"format": 2', b'"format": 1')
    yield data.replace(b'"format": 2', b'"format": 3')
