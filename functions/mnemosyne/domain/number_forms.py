"""Write equal numbers in the same form, to compare the numbers of two texts. Pure.

For example, "1 000 €" and "1000 euros" get the same form.
"""

import re
import unicodedata
from typing import Final

_CURRENCIES: Final = {
    **dict.fromkeys(("€", "eur"), "euro"),
    **dict.fromkeys(("$", "usd"), "dollar"),
    **dict.fromkeys(("£", "gbp"), "pound"),
    **dict.fromkeys(("¥", "jpy"), "yen"),
}
UNITS: Final = frozenset(("percent", *_CURRENCIES.values()))
"""The words that replace signs such as "%"."""


def _keep_digits(match: re.Match[str]) -> str:
    return "".join(filter(str.isdigit, match[0]))


_FORMS: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), replacement)
    for pattern, replacement in (
        (r"[%€$£¥]|(?<![^\W\d])(?:eur|usd|gbp|jpy|pro[cz]ent|p(?:er|ou?r) ?(?:cento?|ciento))\b",
         lambda match: f" {_CURRENCIES.get(match[0].lower(), 'percent')} "),
        (r"(?![0-9])\d", lambda match: str(unicodedata.decimal(match[0]))),
        (r"(?<=\d)[’٬](?=\d)", "'"),
        (r"(?<=\d)٫(?=\d)", "."),
        # Telephone numbers are reduced to their digits: "+49 (30) 12-34", "030 4421".
        (r"(?:(?<!\w)\+\d|(?<![\w.,:/'-])0\d)[\d ()/-]*\d", _keep_digits),
        # Separators of thousands are removed: "1 000", "1'000", "1,000,000".
        (r"(?<![\w.,'])[1-9]\d{0,2}([ .,'])\d{3}(?:\1\d{3})*(?!\d)", _keep_digits),
        # A decimal comma becomes a point: "2,5".
        (r"(?<![\d.,])(\d+),(?=\d{1,2}(?![\d,]))", r"\1."),
        # Zeros at the beginning of a time and at the end of a number are removed: "09:30", "5.00", "12:00". "3.10" is
        # unchanged, because it can be a version.
        (r"(?<![\w.,:])0(?=\d:\d)", ""),
        (r"(?<=\d)(?:[.,:]0+)+(?![.,:]?\d)", ""),
    )
)  # fmt: skip


def normalize_numbers(text: str) -> str:
    """Return the text with one form for equal numbers, percent signs and signs of currencies.

    Numbers that are possibly different, such as "3.1" and "3.10", remain different.
    """
    for pattern, replacement in _FORMS:
        text = pattern.sub(replacement, text)
    return text
