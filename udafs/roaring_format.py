"""The shared parts of writing and reading tag 02: Roaring64 in the portable format of the RoaringFormatSpec."""

from __future__ import annotations

COOKIE, COOKIE_WITH_RUNS = 12346, 12347
ARRAY_LIMIT = 4096  # ids in an array container at most
BITMAP_BYTES = 8192
OFFSETS_FROM = 4  # containers from which a bitmap with runs has an offset header
