"""Find the time of a note in its properties or name. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from typing import Any

from mnemosyne.domain.absent_fields import ZERO_TIME
from mnemosyne.domain.event_time import event_time
from mnemosyne.domain.text_checks import excerpt

# Names of properties that may have the date of a note, the preferred name first. Names are compared without case,
# spaces, hyphens and underscores.
_HAPPENED = (
    "timestamp", "date", "datetime", "created", "createdat", "createdtime", "creationdate", "datecreated",
    "creationtime",
)  # fmt: skip
_PUBLICATION = ("published", "publishedat", "publishdate", "publisheddate", "datepublished", "pubdate")
_CHANGE = (
    "updated", "updatedat", "updatedtime", "lastmod", "lastmodified", "modified", "modifiedat", "dateupdated",
    "datemodified", "lastupdated", "updateddate", "edited", "lasteditedtime",
)  # fmt: skip
_MUST_BE_TIMES = {*_HAPPENED, "updated", "updatedat", "lastmod", "modified"}
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
# Matches the name of a month, also in other languages, if the name begins with the English abbreviation of a month. For
# example, the Spanish "marzo" is read as March. The Finnish "marraskuuta" is not matched, because it is November.
_NAME = r"(?P<month>jan|feb|mar(?!ras)|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_ZONES = {
    "GMT": "+00:00", "WET": "+00:00", "WEST": "+01:00", "CET": "+01:00", "CEST": "+02:00", "EET": "+02:00",
    "EEST": "+03:00", "MSK": "+03:00", "JST": "+09:00", "KST": "+09:00", "AEST": "+10:00", "AEDT": "+11:00",
    "NZST": "+12:00", "NZDT": "+13:00", "EST": "-05:00", "EDT": "-04:00", "CDT": "-05:00", "MST": "-07:00",
    "MDT": "-06:00", "PST": "-08:00", "PDT": "-07:00",
}  # fmt: skip
"""UTC offset of each abbreviation of a time zone. Abbreviations that several time zones share, such as IST, BST and
CST, are missing, so a text with such an abbreviation is not a time."""
_CLOCK = (
    r"(?:,?[ tT]+(?:at )?(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.\d+)?)?(?: ?(?P<half>[ap])\.?m\.?)?"
    r"(?: ?(?P<zone>Z|UTC|(?:GMT|UTC)?[+-]\d\d:?\d\d|(?:GMT|UTC)[+-]\d\d?(?::\d\d)?|"
    rf"{'|'.join(_ZONES)})(?: \([^()]+\))?)?)?"
)
_WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? )?"
_DATE_FORMS = [
    re.compile(_WEEKDAY + date + _CLOCK, re.IGNORECASE | re.ASCII)
    for date in (
        r"(?P<year>\d{4})[-/._](?P<number>\d{1,2})[-/._](?P<day>\d{1,2})",
        rf"{_NAME} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<year>\d{{4}})",
        rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.)?[ -]{_NAME},?[ -](?P<year>\d{{4}})",
    )
]
_DAY_OR_MONTH_FIRST = re.compile(
    r"(?P<one>\d{1,2})(?P<mark>[-/.])(?P<other>\d{1,2})(?P=mark)(?P<year>\d{4})" + _CLOCK, re.IGNORECASE | re.ASCII
)
_NOTESNOOK = re.compile(r"\d\d-\d\d-\d{4} \d\d:\d\d [AP]M")
"""Pattern of the times in an export of Notesnook. The day precedes the month, unless the user chose another format."""
MONTHS = 12
_NOTION_ZONE = re.compile(r" \(((?:GMT|UTC)[+-][\d:]+|[A-Z]{3,4})\)$")
"""Time zone in brackets, as Notion writes it."""
_LINK_OR_MARK = re.compile(r"\[\[([^\[\]|]*)(?:\|[^\[\]]*)?\]\]|\*")
"""A wiki link, such as `[[2026-05-20|Wednesday]]`, or a mark of emphasis, as in `[[May 20th, 2026]] *14:30*`."""
_HOUR, _MINUTE, _OFFSET = r"(?:[01]\d|2[0-3])", r"[0-5]\d", r"(?:0\d|1[0-4]):?(?:00|30|45)"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\.?"
)
# The pattern is stricter than _DATE_FORMS, because a name such as `Marketing 10 2025` or `Monitor 2024.1.2` is no date.
_DATE_AS_NAME = re.compile(
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,? |(?:mon|tue|wed|thu|fri|sat|sun),? )?"
    rf"(?:{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}|\d{{1,2}}(?:st|nd|rd|th|\.)? {_MONTH},? \d{{4}})"
    r"|\d\d\.\d\d\.\d{4}|\d{4}-\d{1,2}-\d{1,2}",
    re.IGNORECASE | re.ASCII,
)
# The pattern is strict, because a number that follows a date and a space or hyphen is not always a time. It may be an
# amount (`2026-05-20 1100 Euro`), a range (`2026-05-20 10-12 Meeting`) or a year (`2026-05-20-1984-notes`). After a
# time without the letter T, a hyphen may begin a range, and not an offset from UTC.
_CLOCK_IN_NAME = (
    rf"(?:(?:(?P<iso>[Tt])|_| at )(?P<clock>{_HOUR}[-.:]?{_MINUTE}(?:[-.:]?{_MINUTE})?)"
    rf"|[ -](?P<marked>{_HOUR}[.:]{_MINUTE}(?:[.:]{_MINUTE})?|{_HOUR}-{_MINUTE}-{_MINUTE})"
    rf"|-(?!(?:19|20)\d\d(?!\d))(?P<digits>{_HOUR}{_MINUTE}(?:{_MINUTE})?))"
    rf"(?P<zone>Z(?!\w)|\+{_OFFSET}|(?(iso)-{_OFFSET}|(?!)))?(?P<half>\s?[AaPp]\.?[Mm]\b\.?)?"
)
_IN_NAME = re.compile(
    r"(?:(?P<date_and_clock>(?:19|20)(?:\d{12}|\d{10}))|"
    rf"(?P<date>\d{{4}}[-_.]\d\d[-_.]\d\d|(?:19|20)\d{{6}})(?:{_CLOCK_IN_NAME})?)(?=\D|$)"
)


@dataclass(frozen=True)
class NoteTime:
    """The time of a note, and notices about properties whose value should be a time but is not."""

    timestamp: object | None
    used: str | None
    """Name of the property that has this time."""
    notices: tuple[str, ...] = ()


def plain_name(name: str) -> str:
    """Normalize a property's name: lower case, without spaces, hyphens and underscores."""
    return re.sub(r"[\s_\-]", "", name).casefold()


def time_of(values: Mapping[str, Any], lines: Mapping[str, int]) -> NoteTime:
    """Find the time of a note in its properties.

    The time in `generated: {at: …}` (Open Knowledge Format) is preferred. Otherwise the first valid time of creation
    (such as `date` or `created`), of publication or of change is used, in this order. Raises ValueError if a property
    that must be a time, such as `updated`, is a number that is not a date. Other invalid values become notices.
    """
    generated = values.get("generated")
    if isinstance(generated, Mapping) and isinstance(generated.get("at"), str) and time_text(generated["at"]):
        return NoteTime(time_text(generated["at"]), None)
    by_name = {plain_name(name): name for name in reversed(list(values))}
    is_day_first = _is_day_first(values)
    notices: list[str] = []
    time: tuple[object, str] | None = None
    for plain in (*_HAPPENED, *_PUBLICATION, *_CHANGE):
        name = by_name.get(plain)
        if name is None or (value := _single_value(values[name])) in (None, "") or isinstance(value, bool):
            continue
        where = f"line {lines[name]}: {name}" if name in lines else name
        try:
            moment = time_text(value, is_day_first) if isinstance(value, str) else value if event_time(value) else None
        except ValueError as exc:
            if plain in _MUST_BE_TIMES and isinstance(value, int | float):
                raise ValueError(f"{where} {exc}") from exc
            moment = None
        if isinstance(moment, str) and event_time(moment).replace(tzinfo=UTC) == ZERO_TIME:
            continue  # the time that Hugo writes for a page without a date
        if moment is None:
            notices.append(f"{where} ({excerpt(value)} is not a time; kept as metadata)")
        elif time is None:
            time = moment, name
    return NoteTime(time[0] if time else None, time[1] if time else None, tuple(notices))


def _single_value(value: object) -> object:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _is_day_first(values: Mapping[str, Any]) -> bool | None:
    """Whether the day precedes the month in the dates of a note; None if this is unknown.

    A date whose day is greater than 12 shows the order of day and month for all dates of the note. If no date of the
    note shows the order, the day precedes the month in a note that Notesnook has exported. If two dates show different
    orders, the order is unknown.
    """
    dates = [match for value in values.values() if (match := _DAY_OR_MONTH_FIRST.fullmatch(str(value)))]
    orders = {int(date["one"]) > MONTHS for date in dates if max(int(date["one"]), int(date["other"])) > MONTHS}
    if not orders and all(_NOTESNOOK.fullmatch(str(values.get(name))) for name in ("created_at", "updated_at")):
        return True
    return orders.pop() if len(orders) == 1 else None


def time_text(text: str, is_day_first: bool | None = None) -> str | None:
    """Convert a written time to a format that `event_time` accepts; None if it is not a time.

    Accepts the formats of `event_time`, dates with the English name of the month, dates that begin with a four-digit
    year, times with am and pm, and links to a page whose name is a date (`[[2026-05-20]] 14:30`). 25.12.2026 and
    12/25/2026 are accepted, but 05/06/2026 only if `is_day_first` is known, because otherwise day and month are
    ambiguous. Of a range, as Notion writes it (`May 20, 2026 → May 22, 2026`), the start is used.
    """
    text = " ".join(text.split())  # also replaces U+202F, which Unicode's data for English has before AM and PM
    text = _NOTION_ZONE.sub(r" \1", text.partition(" → ")[0])
    text = _LINK_OR_MARK.sub(r"\1", text).strip().strip("\"'")
    try:
        is_number = text.isascii() and text.isdigit()
        moment = event_time(int(text) if is_number else text)
        return moment.isoformat() if is_number else text
    except ValueError:
        pass
    for form in _DATE_FORMS:
        if match := form.fullmatch(text):
            return _to_iso(match.groupdict())
    if match := _DAY_OR_MONTH_FIRST.fullmatch(text):
        parts = match.groupdict()
        first, second = int(match["one"]), int(match["other"])
        if match["mark"] == "." or first > MONTHS or first == second or (second <= MONTHS and is_day_first):
            return _to_iso({**parts, "day": match["one"], "number": match["other"]})
        if second > MONTHS or is_day_first is False:
            return _to_iso({**parts, "day": match["other"], "number": match["one"]})
    return None


def _to_iso(parts: Mapping[str, str | None]) -> str | None:
    number = parts.get("number") or _MONTHS.index(str(parts["month"]).lower()) + 1
    when = f"{parts['year']}-{int(number):02}-{int(parts['day'] or 0):02}"
    if parts["hour"]:
        hour, half = int(parts["hour"]), (parts["half"] or "").lower()
        if half and not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * (half == "p") if half else hour
        zone = (parts["zone"] or "").upper()
        zone = _ZONES.get(zone) or re.sub(r"^(GMT|UTC)(?=[+-])", "", zone)
        zone = re.sub(r"^([+-])(\d)(?!\d)", r"\g<1>0\2", zone)  # the offset of `GMT+2`
        when += f"T{hour:02}:{parts['minute']}:{parts['second'] or '00'}{zone}"
    try:
        event_time(when)
    except ValueError:
        return None
    return when


def time_in_name(stem: str) -> tuple[str | None, str]:
    """Return the date at the beginning of a note's name, with the time of day if one follows, and the rest of the name.

    If the name does not begin with a date in digits, return the whole name, and its date if the name is a date in
    another form, such as `May 20th, 2026`.
    """
    match = _IN_NAME.match(stem)
    if match is None:
        return time_text(stem) if _DATE_AS_NAME.fullmatch(stem) else None, stem
    parts = match.group("date_and_clock", "date", "clock", "marked", "digits")
    digits = re.sub(r"\D", "", "".join(part or "" for part in parts))
    if match["half"] and 1 <= (hour := int(digits[8:10])) <= 12:
        is_afternoon = match["half"].strip()[0] in "Pp"
        digits = f"{digits[:8]}{hour % 12 + 12 * is_afternoon:02}{digits[10:]}"
    time = f"T{':'.join(re.findall(r'..', digits[8:]))}{match['zone'] or ''}" if digits[8:] else ""
    try:
        moment = event_time(f"{digits[:4]}-{digits[4:6]}-{digits[6:8]}{time}")
    except ValueError:
        return None, stem
    return moment.isoformat(), stem[match.end() :].lstrip(" -_.")
