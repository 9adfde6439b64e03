"""Expressions for past times in the tests of other libraries have the same meaning here, or differ by a convention.

Microsoft's Recognizers-Text, Duckling, chrono and dateparser: the files of `tests/data/time_expressions` name theirs
and the commits. docs/reference/time.md has the conventions.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from mnemosyne.domain.time.window import resolve
from mnemosyne.errors import InvalidRequest

LISTS = Path(__file__).parents[2] / "data" / "time_expressions"

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


OTHERS_MEAN_OTHERWISE = {
    "duckling": {
        "N units ago is that calendar unit": [
            "1 week ago", "one week ago", "a week ago", "three weeks ago", "a fortnight ago", "three months ago",
            "two years ago", "7 days ago", "14 days Ago",
        ],
        "the past N units end now": [
            "past week", "last 1 hour", "last one hour", "last 2 days", "last two days", "past 2 days", "last 2 weeks",
            "last two weeks", "past 2 weeks", "last 2 months", "last two months", "last 2 years", "last two years",
        ],
        "seasons are of whole months, nights until morning, weekends of two days": [
            "last season", "last night", "this past weekend",
        ],
    },
    "chrono": {
        "last night begins in the evening": ["last night"],
        "a moment is where its offset says, not where the machine stands": ["1994-11-05T08:15:30-05:30"],
    },
    "dateparser": {},
}  # fmt: skip
OTHERS_REFUSED = {
    "duckling": {
        "calendars of the moon": [
            "Bakr Id 1966", "Bakr Id 1974", "Bakr Id 1980", "Eid al-Adha 1966", "Eid al-Adha 1974", "Eid al-Adha 1980",
            "Eid al-Fitr 1950", "Eid al-Fitr 1975", "Eid al-Fitr 1988", "Ramadan 1950", "Ramadan 1977",
            "id ul-adha 1966", "id ul-adha 1974", "id ul-adha 1980", "sacrifice feast 1966", "sacrifice feast 1974",
            "sacrifice feast 1980", "last chinese lunar new year's day", "last chinese new year",
            "last chinese new years",
        ],
        "seconds": ["last 2 seconds", "last two seconds"],
        "of the seven days until now, or of last week": [
            "at the beginning of past week", "at the end of past week", "beginning of past week", "end of past week",
        ],
        "a banker's word, or nobody's": [
            "BOM", "the BOM", "at the BOM", "ASAP", "as soon as possible", "in 14 a.d.", "past seasons",
            "previous seasons", "late last night", "the closest Monday to Oct 5th", "the closest xmas to today",
            "the 3rd closest xmas to today",
        ],
    },
    "chrono": {
        "the day or the month first": ["8/1/2012", "2 months before 02/02"],
        "before, or earlier than, what": [
            "15 minute earlier", "15 minutes earlier", "15 minute before", "a min before", "the min before",
        ],
        "seconds": ["12 seconds ago", "three seconds ago"],
        "signs": ["-3y", "-2hr5min", "-5d 00", "-2 hours 5 minutes", "2023-12-29 -10days"],
        "which midnight": ["midnight"],
        "the hours of several days": ["22-23 Feb at 7pm"],
        "years before the thousandth, and two numbers": ["10 August 88 CE", "10 August 88 AD", "14/4 90"],
        "no spelling of English": ["lastmonth", "8:23 AM ∙ Jul 9"],
    },
    "dateparser": {
        "a length, of which nobody says that it is past": [
            "1 decade", "1 decade 2 years", "1 decade 12 months", "1 decade and 11 months", "100 decades",
            "1 year 2 months", "1 year, 09 months,01 weeks", "1 year 11 months", "1 year 12 months", "15 hr", "15 hrs",
            "2 min", "2 mins", "3 sec", "2.5 hours", "10.75 minutes", "1.5 days",
        ],
        "ten years ago or the ten years before these": ["a decade ago"],
        "before what": ["4 days before", "10 days before"],
        "signs": [
            "-1 decade", "-1 decade 2 years", "-1 decade +2 years", "now - 1hour", "now - 2 hours",
            "now - 30 minutes", "now - 1 day",
        ],
        "days and hours of the clock together": ["1 year, 1 month, 1 week, 1 day, 1 hour and 1 minute ago"],
    },
}  # fmt: skip


def _listed(name: str) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads((LISTS / f"{name}.json").read_text())["expressions"]
    return listed


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


def _all(classes: Mapping[str, Sequence[str]]) -> set[str]:
    return {expression for expressions in classes.values() for expression in expressions}


def test_at_least_90_percent_mean_the_same_or_differ_by_a_convention_and_none_is_wrong() -> None:
    meanings = {case["expression"]: _meaning(case) for case in _listed("recognizers")}
    not_known = set(REFUSED["not known here"])
    assert {expression for expression, meaning in meanings.items() if meaning == "otherwise"} == _all(OTHERWISE)
    assert {expression for expression, meaning in meanings.items() if meaning == "refused"} == _all(REFUSED)
    assert 1 - len(not_known) / len(meanings) >= 0.9


@pytest.mark.parametrize("name", ["duckling", "chrono", "dateparser"])
def test_each_expression_that_differs_or_is_refused_has_a_reason_and_the_others_agree(name: str) -> None:
    meanings = {case["expression"]: _meaning(case) for case in _listed(name)}
    assert {expression for expression, meaning in meanings.items() if meaning == "otherwise"} == _all(
        OTHERS_MEAN_OTHERWISE[name]
    )
    assert {expression for expression, meaning in meanings.items() if meaning == "refused"} == _all(
        OTHERS_REFUSED[name]
    )


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
        ("early last week", "2026-05-11", "2026-05-14"),
        ("at the end of last week", "2026-05-15", "2026-05-18"),
        ("the beginning of the month", "2026-05-01", "2026-05-11"),
        ("the first half of March", "2026-03-01", "2026-03-16"),
        ("the second half of April", "2026-04-16", "2026-05-01"),
        ("the first three months of 2025", "2025-01-01", "2025-04-01"),
        ("the last 2 months of 2025", "2025-11-01", "2026-01-01"),
        ("the last 3 days of April", "2026-04-28", "2026-05-01"),
        ("the 3rd of last month", "2026-04-03", "2026-04-04"),
        ("the first Monday of the month", "2026-05-04", "2026-05-05"),
        ("last week's Friday", "2026-05-15", "2026-05-16"),
        ("Monday two weeks ago", "2026-05-04", "2026-05-05"),
        ("3 weekends ago", "2026-05-02", "2026-05-04"),
        ("the weekend before last", "2026-05-09", "2026-05-11"),
        ("two summers ago", "2024-06-01", "2024-09-01"),
        ("winter 2024/25", "2024-12-01", "2025-03-01"),
        ("a year ago today", "2025-05-20", "2025-05-21"),
        ("exactly a week ago", "2026-05-13", "2026-05-14"),
        ("ytd", "2026-01-01", "2026-05-20T15:30"),
        ("sometime last week", "2026-05-11", "2026-05-18"),
        ("all day yesterday", "2026-05-19", "2026-05-20"),
        ("back in 2024", "2024-01-01", "2025-01-01"),
        ("half an hour ago", "2026-05-20T15:00", "2026-05-20T15:01"),
        ("2 weeks back", "2026-05-04", "2026-05-11"),
        ("yesterday 8am", "2026-05-19T08:00", "2026-05-19T09:00"),
        ("8:23 AM, May 12", "2026-05-12T08:23", "2026-05-12T08:24"),
        ("yesterday evening at 8", "2026-05-19T20:00", "2026-05-19T21:00"),
        ("6:30 this morning", "2026-05-20T06:30", "2026-05-20T06:31"),
        ("last night at 10", "2026-05-19T22:00", "2026-05-19T23:00"),
        ("since 9am", "2026-05-20T09:00", None),
        ("3 Aug 96", "1996-08-03", "1996-08-04"),
    ],
)
def test_common_expressions_for_past_times_are_understood(
    expression: str, after: str | None, before: str | None
) -> None:
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
        "the middle of last week",
        "the first half of last week",
        "the last 40 days of April",
        "the 31st of last month",
        "winter 2024/26",
        "last night at 2",
        "5pm",
        "a decade ago",
    ],
)
def test_an_ambiguous_or_meaningless_expression_is_refused(expression: str) -> None:
    with pytest.raises(InvalidRequest):
        resolve(expression, now=datetime(2026, 5, 20, 15, 30, tzinfo=UTC))
