"""How the texts that these tests expect are spelled."""

from __future__ import annotations

import pytest

from forward_lineage.frontend.printing import FaithfulGenerator


@pytest.fixture
def newest_spelling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stars that leave columns out are printed as Spark reads them from 4.0 on, whichever is installed."""
    monkeypatch.setattr(FaithfulGenerator, "HAS_STAR_EXCEPT", True)
