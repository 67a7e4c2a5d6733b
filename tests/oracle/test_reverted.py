"""What `reverted.toml` takes back is there to be taken back."""

from __future__ import annotations

import pytest

from tests.oracle.reverted import Reverted, rules


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.name)
def test_a_rule_stands_once_in_its_file(rule: Reverted) -> None:
    assert rule.after in rule.text()
