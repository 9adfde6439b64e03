"""Expressions for past times in the tests of other libraries have the same meaning here, or differ by a convention.

The libraries are Microsoft's Recognizers-Text, Duckling, chrono and dateparser. Each file in
`tests/data/time_expressions` names its library and the commit. The conventions are in docs/reference/time.md.
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
            "1 year 2 months", "1 year, 09 months,01 weeks", "1 year 11 months", "1 year 12 months", "3 sec",
            "2.5 hours", "10.75 minutes", "1.5 days",
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
