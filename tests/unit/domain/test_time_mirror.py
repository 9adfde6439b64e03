"""The past expressions of another recognizer's own tests mean here what they mean there, or differ by a convention.

Microsoft's Recognizers-Text; `tests/data/time_expressions/recognizers.json` names the file and its commit. The
conventions are those of the contract, §4.
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from mnemosyne.domain.time.window import resolve
from mnemosyne.errors import InvalidRequest

LISTED = json.loads((Path(__file__).parents[2] / "data" / "time_expressions" / "recognizers.json").read_text())
CASES: list[dict[str, Any]] = LISTED["expressions"]

OTHERWISE = {
    "the last day, month, quarter or year of a stretch lies in it": [
        "january 12, 2016 - 01/22/2016", "between 2007 and 2009", "between 2015 and 2018", "from may to september",
        "jan-feb 2017", "nov-feb 2017", "nov-feb 5th, 2017", "nov 18-dec 19, 2015", "nov 18 2014-dec 19 2015",
        "from april to june in 2017", "from april in 2016 to june in 2017", "from january to april 2015",
        "from 2017-q1 to 2018-q1", "from 2017 q1 to 2018 q1", "from q1 of 2017 - q3 of 2018",
        "from 2019-aug-01 to today", "2019/aug/01 to today", "between jan 2019 and today",
        "between 22/jan/2019 and yesterday", "02-02-2020 - 03-03-2020", "june-august 1992", "from 2010 to 2018",
        "no later than january 1, 2010", "no later than january 1, 2007",
    ],
    "after a day is after its end, and so is since the end of something": [
        "after january 1, 2007", "since the end of 1989",
    ],
    "now is this moment, not the day's beginning": [
        "year to date", "between jan 22 and now", "between aug 2019 and now", "from 2010-01-01 till current date",
        "earlier this month",
    ],
    "the past N units end now": [
        "5 past years", "10 previous weeks", "past quarter", "last 3 months", "past fortnight", "last 2 quarters",
        "last 3 months and 2 weeks and 2 days", "past two quarters", "previous three quarters",
        "previous eleven quarters",
    ],
    "N months ago is that calendar month": ["two months ago", "one month ago"],
    "last, or previous, Wednesday is the latest before today": [
        "previous monday", "previous wednesday", "last wednesday",
    ],
    "parts of a day leave out no hour, around is an hour either way, and a side of a time is of its day": [
        "last night", "before around 2pm today", "previous tuesday by 2 in the afternoon",
    ],
    "the middle of a year is its second third": ["from the middle of 2007 to the end of 2008"],
}  # fmt: skip
REFUSED = {
    "a time of the morning or of the evening": [
        "between 10 and 11:30 on 1/1/2015", "1/1/2015 between 10 and 11:30", "from 10:30 to 3 on 1/1/2015",
        "between 3 and 5 on 1/1/2015", "from 3:30 to 5:55 on 1/1/2015", "1/1/2015 after 2:00",
        "between 3 and 8 yesterday", "between eight o'clock and now",
    ],
    "the day or the month first": [
        "from 10-1-2018-10-7-2018", "from 10/1/2018 - 10/7/2018", "from 10/1/2018-10/7/2018", "this friday 5/12",
        "next friday 5/12", "this 5/12", "from this friday 5/12 to next sunday 5/20", "10/1-11/2/2017",
    ],
    "a year of two digits": ["january first 12", "cy18", "03/18/40"],
    "not known here": [
        "15th  century", "previous 4 business days", "the day before", "earlier previous week",
        "in two years since 2011", "in two weeks since the year 2011", "1865", "between 7 and 9 last morning",
    ],
}  # fmt: skip


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text).replace(tzinfo=UTC) if text else None


def _meaning(case: dict[str, Any]) -> str:
    now = _moment(case["now"])
    assert now
    try:
        window = resolve(case["expression"], now=now)
    except InvalidRequest:
        return "refused"
    theirs = [(_moment(after), _moment(before)) for after, before in case["windows"]]
    return "the same" if (window.after, window.before) in theirs else "otherwise"


def test_nine_tenths_mean_the_same_or_differ_by_a_convention_and_none_is_wrong() -> None:
    found = {case["expression"]: _meaning(case) for case in CASES}
    by_convention = {one for some in OTHERWISE.values() for one in some}
    with_two_readings = {one for reason, some in REFUSED.items() if reason != "not known here" for one in some}
    assert {one for one, meaning in found.items() if meaning == "otherwise"} == by_convention
    assert {one for one, meaning in found.items() if meaning == "refused"} == {
        *with_two_readings,
        *REFUSED["not known here"],
    }
    same = sum(meaning == "the same" for meaning in found.values())
    print(f"{len(found)}: {same} the same, {len(by_convention)} otherwise, {len(with_two_readings)} with two readings")
    assert (same + len(by_convention) + len(with_two_readings)) / len(found) >= 0.9


@pytest.mark.parametrize(
    ("expression", "after", "before"),
    [
        ("the Thursday before last", "2026-05-07", "2026-05-08"),
        ("two Mondays ago", "2026-05-11", "2026-05-12"),
        ("this past weekend", "2026-05-16", "2026-05-18"),
        ("the week of May 4", "2026-05-04", "2026-05-11"),
        ("the last week of October", "2025-10-27", "2025-11-03"),
        ("the last Monday of April", "2026-04-27", "2026-04-28"),
        ("a fortnight ago", "2026-05-04", "2026-05-11"),
        ("year to date", "2026-01-01", "2026-05-20T15:30"),
        ("the nineties", "1990-01-01", "2000-01-01"),
        ("around noon yesterday", "2026-05-19T11:00", "2026-05-19T13:00"),
        ("yesterday from 3 to 5pm", "2026-05-19T15:00", "2026-05-19T17:00"),
        ("Tuesday 12 May", "2026-05-12", "2026-05-13"),
        ("03-May-2026", "2026-05-03", "2026-05-04"),
        ("20260503", "2026-05-03", "2026-05-04"),
        ("2026-05-01/2026-05-10", "2026-05-01", "2026-05-11"),
        ("2026-05-01..2026-05-10", "2026-05-01", "2026-05-11"),
        ("2026-05-01..", "2026-05-01", None),
        ("..2026-05-01", None, "2026-05-02"),
        ("between 1 and 15 October", "2025-10-01", "2025-10-16"),
        ("May 3-10, 2026", "2026-05-03", "2026-05-11"),
        ("2023-2025", "2023-01-01", "2026-01-01"),
        ("between two and four weeks ago", "2026-04-20", "2026-05-11"),
        ("from June 2025 onwards", "2025-06-01", None),
        ("prior to May 2026", None, "2026-05-01"),
        ("by the end of April", None, "2026-05-01"),
        ("more than 2 weeks ago", None, "2026-05-06T15:30"),
        ("older than 30 days", None, "2026-04-20T15:30"),
        ("over 2 weeks ago", None, "2026-05-06T15:30"),
        ("greater than 30 days ago", None, "2026-04-20T15:30"),
        ("less than 2 weeks ago", "2026-05-06T15:30", "2026-05-20T15:30"),
        ("newer than 30 days", "2026-04-20T15:30", "2026-05-20T15:30"),
        ("less than 2015", None, "2015-01-01"),
        (">= 2026-01-01", "2026-01-01", None),
        ("< 2025", None, "2025-01-01"),
        ("previous week - Monday", "2026-05-11", "2026-05-12"),
        ("before the end of December", None, "2026-01-01"),
        ("Labor Day weekend", "2025-08-30", "2025-09-02"),
        ("2 weeks before Christmas", "2025-12-11", "2025-12-12"),
        ("twenty second of April", "2026-04-22", "2026-04-23"),
        ("March two thousand and twenty", "2020-03-01", "2020-04-01"),
    ],
)
def test_what_people_say_of_the_past(expression: str, after: str | None, before: str | None) -> None:
    window = resolve(expression, now=datetime(2026, 5, 20, 15, 30, tzinfo=UTC))  # a Wednesday
    assert (window.after, window.before) == (_moment(after), _moment(before))


@pytest.mark.parametrize(
    "expression",
    [
        "10/11/2025",
        "yesterday at 5",
        "between 20 and 10 May",
        "Friday 17 May 2026",
        "today from 7 to 8",
        "by Friday",
        "> 2 weeks ago",
        "< 30 days ago",
        "the other day",
    ],
)
def test_what_has_two_readings_or_none_is_refused(expression: str) -> None:
    with pytest.raises(InvalidRequest):
        resolve(expression, now=datetime(2026, 5, 20, 15, 30, tzinfo=UTC))
