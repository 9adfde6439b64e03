"""Budgets of principals."""

import pytest

from mnemosyne.http.common import rate_limit
from mnemosyne.http.common.rate_limit import Budgets


def test_the_least_recently_used_budget_is_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limit, "MAX_BUCKETS", 2)
    budgets = Budgets(1)
    for principal in ("ada", "bob"):
        assert not budgets.spend(principal, 1)
    assert budgets.retry_after("ada")
    assert not budgets.spend("eve", 1)
    assert not budgets.retry_after("bob")
    assert budgets.retry_after("ada")
    assert budgets.retry_after("eve")
