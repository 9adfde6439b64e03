"""Validate the names of OAuth clients, so that no client can imitate another. Pure.

Follows https://www.unicode.org/reports/tr39/: a name is rejected if a word mixes similar-looking scripts. If a word
looks Latin but is in another script, the name gets a mark such as "(in Cyrillic letters)".
"""

import re
import unicodedata

from mnemosyne.domain.visible import one_line
from mnemosyne.errors import InvalidRequest

NAME_LENGTH = 100
NAMELESS = "an unnamed client"
# Sets of scripts that one word is allowed to mix:
# https://www.unicode.org/reports/tr39/#Restriction_Level_Detection.
_TOGETHER = ({"LATIN", "CJK", "HIRAGANA", "KATAKANA"}, {"LATIN", "CJK", "BOPOMOFO"}, {"LATIN", "CJK", "HANGUL"})
_LOOK_LATIN = {
    "CYRILLIC": set("АВЕЅІЈКМНОРСТУХҮԚԜаеѕіјкорсухүһԁԛԝѵӏ"),
    "GREEK": set("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαγικνορυχ"),
    "ARMENIAN": set("ՍՕՏԼԱցհոսօգք"),
}
_MARK = re.compile(r"( \(in [A-Za-z ]+ letters\))+$")
_RARE = {"CHEROKEE", "COPTIC", "LISU", "DESERET", "GOTHIC", "OLD", "LYDIAN", "LYCIAN", "CARIAN", "OSAGE"}
"""Scripts in which many letters look Latin. A word in such a script is marked, whatever letters it has."""


def client_name(value: object) -> str:
    """Return the name of a client in the form in which it is displayed to people.

    `value` is the name that the client gave. Raises InvalidRequest if a word mixes similar-looking scripts, or has
    phonetic small capitals.
    """
    # NFKC replaces full-width, bold and circled letters with plain letters. Cut a long name first: NFKC's time is
    # quadratic in the number of combining marks in a row, and anybody may register a client with such a name.
    name = unicodedata.normalize("NFKC", one_line(value[: 10 * NAME_LENGTH])) if isinstance(value, str) else ""
    name = _MARK.sub("", " ".join(one_line(name).split())[:NAME_LENGTH].strip())
    foreign = {script.title() for word in name.split() if (script := _lookalike_script(word))}
    return f"{name} (in {' and '.join(sorted(foreign))} letters)" if foreign else name or NAMELESS


def _lookalike_script(word: str) -> str:
    """Return the script of a word that looks Latin but is in another script. The result is empty for other words."""
    letters = [character for character in word if character.isalpha()]
    scripts = {_script(letter) for letter in letters} - {""}
    if len(scripts) > 1 and not any(scripts <= together for together in _TOGETHER):
        raise InvalidRequest(f"client_name must not mix letters of {' and '.join(sorted(scripts))} in one word")
    if any("SMALL CAPITAL" in unicodedata.name(letter, "") for letter in letters):
        raise InvalidRequest("client_name must not contain phonetic small capitals such as U+1D00")
    script = next(iter(scripts), "")
    similar = _LOOK_LATIN.get(script, set())
    looks_latin = script in _RARE or (bool(letters) and all(letter in similar for letter in letters))
    return script if looks_latin else ""


def _script(letter: str) -> str:
    """Return the script of a letter: the first word of its Unicode name.

    The result is empty for letters that several scripts share.
    """
    script = unicodedata.name(letter, "").partition(" ")[0]
    return "" if script in ("MODIFIER", "FEMININE", "MASCULINE", "MICRO", "KATAKANA-HIRAGANA", "") else script
