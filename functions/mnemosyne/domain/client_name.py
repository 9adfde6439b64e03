"""Names that programs give themselves, held to what cannot pass for another name. Pure.

https://www.unicode.org/reports/tr39/: a word whose letters are of scripts that look alike is refused, and a word whose
letters are all of another script but look Latin is marked.
"""

import re
import unicodedata

from mnemosyne.domain.visible import one_line
from mnemosyne.errors import InvalidRequest

NAME_LENGTH = 100
NAMELESS = "an unnamed client"
# Scripts that are written together: https://www.unicode.org/reports/tr39/#Restriction_Level_Detection.
_TOGETHER = ({"LATIN", "CJK", "HIRAGANA", "KATAKANA"}, {"LATIN", "CJK", "BOPOMOFO"}, {"LATIN", "CJK", "HANGUL"})
_LOOK_LATIN = {
    "CYRILLIC": set("АВЕЅІЈКМНОРСТУХҮԚԜаеѕіјкорсухүһԁԛԝѵӏ"),
    "GREEK": set("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαγικνορυχ"),
    "ARMENIAN": set("ՍՕՏԼԱցհոսօգք"),
}
_MARK = re.compile(r"( \(in [A-Za-z ]+ letters\))+$")
_RARE = {"CHEROKEE", "COPTIC", "LISU", "DESERET", "GOTHIC", "OLD", "LYDIAN", "LYCIAN", "CARIAN", "OSAGE"}
"""Scripts of which many letters look Latin."""


def client_name(given: object) -> str:
    """Return the name as people are shown it; raises InvalidRequest if it mixes scripts that look alike in a word."""
    # Wide, bold and circled letters are those that they stand for.
    name = unicodedata.normalize("NFKC", one_line(given)) if isinstance(given, str) else ""
    name = _MARK.sub("", " ".join(one_line(name).split())[:NAME_LENGTH].strip())
    foreign = {script.title() for word in name.split() if (script := _foreign(word))}
    return f"{name} (in {' and '.join(sorted(foreign))} letters)" if foreign else name or NAMELESS


def _foreign(word: str) -> str:
    """Return the script of a word that looks Latin and is not; empty if it is Latin or does not look so."""
    letters = [one for one in word if one.isalpha()]
    scripts = {_script(one) for one in letters} - {""}
    if len(scripts) > 1 and not any(scripts <= together for together in _TOGETHER):
        raise InvalidRequest(f"client_name must not mix letters of {' and '.join(sorted(scripts))} in one word")
    if any("SMALL CAPITAL" in unicodedata.name(one, "") for one in letters):
        raise InvalidRequest("client_name must not be written in small capitals of phonetics")
    script = next(iter(scripts), "")
    looks_latin = script in _RARE or (bool(letters) and all(one in _LOOK_LATIN.get(script, ()) for one in letters))
    return script if looks_latin else ""


def _script(letter: str) -> str:
    """Return the script by the first word of the letter's name; empty for letters of several scripts."""
    script = unicodedata.name(letter, "").partition(" ")[0]
    return "" if script in ("MODIFIER", "FEMININE", "MASCULINE", "MICRO", "KATAKANA-HIRAGANA", "") else script
