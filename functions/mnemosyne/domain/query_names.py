"""Find names of people and things in a query. A memory about such a person or thing usually contains the name."""

import re
import unicodedata

from mnemosyne.domain.change_words import FUNCTION
from mnemosyne.domain.sentences import ABBREVIATIONS, INITIAL, NO_ABBREVIATION
from mnemosyne.domain.time.vocabulary import MONTHS, WEEKDAYS

# Months and weekdays in Turkish and Indonesian. Like names, they are written with a capital letter, but are not names.
_OTHER_TIMES = frozenset((
    "ocak", "şubat", "mart", "nisan", "mayıs", "haziran", "temmuz", "ağustos", "eylül", "ekim", "kasım", "aralık",
    "pazartesi", "salı", "çarşamba", "perşembe", "cuma", "cumartesi", "pazar", "januari", "februari", "maret", "mei",
    "juni", "juli", "agustus", "oktober", "desember", "senin", "selasa", "rabu", "kamis", "jumat", "sabtu", "minggu",
))  # fmt: skip
# Titles (except abbreviated ones), and pronouns that some languages write with a capital letter. They are not names.
_TITLES_AND_PRONOUNS = frozenset((
    "doctor", "professor", "mister", "monsieur", "madame", "mademoiselle", "mlle", "docteur", "señor", "señora",
    "señorita", "don", "doña", "usted", "ustedes", "signor", "signora", "signore", "sig", "lei", "pan", "pani",
    "państwo", "twój", "twoja", "twoje", "twojego", "twojej", "ciebie", "tobie", "hanım", "bey", "sayın", "вас",
    "вам", "вами", "ваш", "ваша", "ваше", "ваши", "вашего", "вашей", "вашему", "вашим", "вашу", "ваших",
))  # fmt: skip
_NOT_NAMES = (
    frozenset(MONTHS) | frozenset(WEEKDAYS) | _OTHER_TIMES | _TITLES_AND_PRONOUNS | frozenset(("q1", "q2", "q3", "q4"))
)
_WORD = re.compile(r"\w{3,}")
_SENTENCE_START = re.compile(rf"(?:^|[\r\n¿¡]|[.?!:…]{NO_ABBREVIATION}[\"'”’»)\]]*\s)\W{{,8}}(?=\w)")
_AFTER_INITIAL = re.compile(rf"{INITIAL}[\"'”’»)\]]*\s\W{{,8}}(?=\w)")
_MOST_NAMES = 4
"""Maximum number of names in a query. If a query has more names, none of them is used. Such a query, for example a
prompt for a coding agent, has several topics, and a good hit is about only one of them."""
_POSSESSIVE = re.compile(r"['’]s\b")
_NOT_POSSESSIVE = FUNCTION | {
    "why", "how", "today", "yesterday", "tomorrow", "tonight", "everyone", "everybody", "someone", "somebody",
    "anyone", "anybody", "nobody",
}  # fmt: skip
_IDENTIFIER = re.compile(r"\b[^\W\d_]+[-.]?\d\w*")


def names_in_query(query: str) -> list[str]:
    """Return the names in a query: capitalised words, and parts of identifiers, such as `mail` and `23` of `mail-23`.

    The first word of a sentence or line is a name only with a possessive s, as in "Tom's shoe size". Titles ("Mrs",
    "Señora"), pronouns ("Ваш"), abbreviations in capitals, months and weekdays are not names. A capital letter with a
    full stop may end a sentence ("plan B. Then …") or not ("J. Doe"), so a function word after it is not a name.
    In German every noun is capitalised, so the SQL function `query_terms` ignores names without digits if the query is
    probably in German. If a query has more than four names, it probably has several topics, and the result is empty.
    """
    query = unicodedata.normalize("NFC", query)
    starts = {match.end() for match in _SENTENCE_START.finditer(query)}
    after_initials = {match.end() for match in _AFTER_INITIAL.finditer(query)}
    words = [
        match.group()
        for match in _WORD.finditer(query)
        if (match.start() not in starts or _has_possessive(query, match))
        and not (match.start() in after_initials and match.group().casefold() in FUNCTION)
    ]
    names = [word for word in words if word[0].isupper() and word != word.upper()]
    names += [part for identifier in _IDENTIFIER.findall(query) for part in re.split("[-.]", identifier)]
    distinct = [
        name for name in dict.fromkeys(names) if name.casefold() not in _NOT_NAMES and name not in ABBREVIATIONS
    ]
    return distinct if len(distinct) <= _MOST_NAMES else []


def _has_possessive(query: str, match: re.Match[str]) -> bool:
    """Whether a word has a possessive s. The s of "What's" is a verb, and "today's" is a time, so neither is a name."""
    return match.group().casefold() not in _NOT_POSSESSIVE and _POSSESSIVE.match(query, match.end()) is not None
