"""Expressions for past times in the tests of other libraries have the same meaning here, or differ by a convention.

The libraries are Microsoft's Recognizers-Text, Duckling, chrono and dateparser. Each file in
`tests/data/time_expressions` names its library and the commit. An expression that is refused here or has another
meaning has the field `here`, and its reason in the field `because`. The conventions are in docs/reference/time.md.
"""

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from mnemosyne.domain.time.window import resolve
from mnemosyne.errors import InvalidRequest

LISTS = Path(__file__).parents[2] / "data" / "time_expressions"


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text).replace(tzinfo=UTC) if text else None


def _meaning(case: dict[str, Any]) -> str:
    now = _moment(case["now"])
    assert now
    try:
        window = resolve(case["expression"], now=now)
    except InvalidRequest:
        return "refused"
    if moment := _moment(
        case.get("moment")
    ):  # the first moment is in the window; the second, if any, is on its last day
        until = _moment(case.get("until"))
        begun = window.after is None or window.after <= moment
        ends = window.before is None or moment < window.before
        last = until is None or (window.before is not None and until.date() in _last_days(window.before))
        return "the same" if begun and ends and last else "otherwise"
    theirs = [(_moment(after), _moment(before)) for after, before in case["windows"]]
    return "the same" if (window.after, window.before) in theirs else "otherwise"


def _last_days(end: datetime) -> set[date]:
    return {end.date(), (end - timedelta(seconds=1)).date()}


@pytest.mark.parametrize("name", ["recognizers", "duckling", "chrono", "dateparser"])
def test_each_expression_has_the_same_meaning_or_a_reason_for_another(name: str) -> None:
    cases = json.loads((LISTS / f"{name}.json").read_text())["expressions"]
    assert {case["expression"]: _meaning(case) for case in cases} == {
        case["expression"]: case.get("here", "the same") for case in cases
    }
    assert all(case.get("because") for case in cases if "here" in case)
