"""Split a text into statements, and statements into words, to compare the facts that they state. Pure.

A statement is a sentence or clause that is not a question. Its content words carry its meaning; its function words,
such as "the" and "in", do not.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import groupby, islice

from mnemosyne.domain import change_words as lists
from mnemosyne.domain.number_forms import normalize_numbers
from mnemosyne.domain.sentences import NO_ABBREVIATION, TITLES

MOST_STATEMENTS = 200
"""Maximum statements of a text that are compared. The rest of a longer text is ignored."""
MOST_PARTS = 10_000
"""Maximum sentences and clauses that a text is split into. The rest of a longer text is ignored."""
MOST_PARSED = 2_000
"""Maximum sentences and clauses of a text that are parsed. It is higher than MOST_STATEMENTS, because many of them
state nothing, or repeat a statement."""
MOST_WORDS = 30
"""Maximum content words of a statement. Longer statements are not compared."""
MOST_CHARACTERS = 600
"""Maximum characters of a sentence. Longer sentences are not parsed."""
SPEAKER = "speaker "
"""All words that refer to the speaker, such as "I", have the same key. The key is this text, followed by the speaker's
name if it is known."""
_SENTENCE_END = re.compile(
    rf"(?<=[.!?…])(?=\s){NO_ABBREVIATION}(?<!\b[A-Z][a-z]\.)(?<!\b[A-Z][a-z][a-z]\.)\s+|\n+|(?<=[。！？।؟۔])"
)
_CLAUSE_END = re.compile(r"[,;:、]\s+|[、;]|\s[–—-]\s|\s(?:but|aber|sondern|sino|pero|mais|ma)\s")
_SPEAKER = re.compile(r"([^\W\d_][\w.'’-]*(?: [^\W\d_][\w.'’-]*)?): ")
_BULLET = re.compile(r"(?:[-*•>#]+|\d{1,3}[.)])\s+")
# The pattern lists the characters of Indic scripts, because in Python `\w` does not match their vowel signs.
_WORD = re.compile(r"[^\W_][\w\u0900-\u0963\u0966-\u0dff]*(?:[-.'’/:@,][^\W_][\w\u0900-\u0963\u0966-\u0dff]*)*|[,;:()]")
_SCRIPTS = re.compile(r"[\u3041-\u309f]+|[\u30a0-\u30ff]+|[\u3400-\u9fff々]+|[^\u3041-\u30ff\u3400-\u9fff々]+")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)", re.IGNORECASE)
_CONTRACTION = re.compile(r"(i|you|he|she|it|we|they|that|there|here|what|who|let)'(s|re|ve|m|ll|d)", re.IGNORECASE)
_MEASURE = re.compile(r"(\d[\d.,:]*)([^\W\d]{1,3})")
_ANY_PHRASE = re.compile(
    "|".join(re.sub(r"\((?!\?)", "(?:", pattern.pattern) for pattern, _ in lists.PHRASES), re.IGNORECASE
)
_SUFFIXES = ("ing", "ed", "es", "en", "s", "e", "t")


class Kind(StrEnum):
    """Kind of a content word (a word that carries meaning). Two values of a fact are compared only if their words are
    of the same kind."""

    NUMBER = "number"
    NAME = "name"
    WORD = "word"


@dataclass(frozen=True)
class Word:
    """A content word of a statement."""

    key: str
    """Key that is the same for all forms of the word, such as singular and plural."""
    kind: Kind
    place: int
    """Position of the word among the statement's content words."""
    before: tuple[str, ...]
    """The function words and markers between the previous content word and this one."""


@dataclass(frozen=True)
class Statement:
    """A sentence or clause that states something."""

    words: tuple[Word, ...]
    others: frozenset[str]
    """The words of the statement that are not content words: function words, negations, and markers (words that
    indicate a change, such as "now")."""
    old: tuple[tuple[str, ...], ...]
    """Keys of values that are no longer true: the words after an expression such as "no longer" or "from"."""

    @cached_property
    def by_key(self) -> dict[str, Word]:
        """The content words by their keys (see `key_of`). If several words have the same key, the first one is used."""
        return {word.key: word for word in reversed(self.words)}

    @cached_property
    def keys(self) -> frozenset[str]:
        """Keys of the content words: the words in lower case, without common endings (see `key_of`)."""
        return frozenset(self.by_key)

    @cached_property
    def is_change(self) -> bool:
        """Whether the statement says that something has changed."""
        return not self.others.isdisjoint(lists.MARKERS | lists.NO_LONGER | {"old_before"})

    @cached_property
    def is_negated(self) -> bool:
        """Whether the statement has a negation."""
        return not self.others.isdisjoint(lists.NEGATIONS) or not self.others.isdisjoint(lists.NO_LONGER)

    @cached_property
    def is_stative(self) -> bool:
        """Whether the statement has a verb of a lasting state, such as "is", and is not about today or yesterday."""
        return not self.others.isdisjoint(lists.STATIVE) and self.others.isdisjoint(lists.EVENTS)

    @cached_property
    def may_be_fact(self) -> bool:
        """Whether the statement possibly states a lasting fact.

        True also for a statement without any known function word, because its language is probably unknown.
        """
        counts = not self.others or not self.others.isdisjoint(lists.COUNTING)
        return self.is_change or self.is_negated or self.is_stative or counts

    @cached_property
    def names(self) -> list[frozenset[str]]:
        """The names in the statement. Each name is a set with the keys (see `key_of`) of the name's words."""
        name_keys = []
        for is_name, words in groupby(self.words, lambda word: word.kind is Kind.NAME):
            run: list[str] = []
            for word in words if is_name else ():
                if word.before and run:
                    name_keys.append(frozenset(run))
                    run = []
                run.append(word.key)
            if run:
                name_keys.append(frozenset(run))
        return name_keys


def statements(text: str, is_wanted: Callable[[str], bool] = bool) -> list[Statement]:
    """Return the statements of a text: its sentences and their clauses, without questions.

    `is_wanted` is a quick test of a sentence. Sentences that fail the test are not parsed.
    """
    text = unicodedata.normalize("NFKC", text)
    speaker = match[1] if (match := _SPEAKER.match(text)) else None
    distinct: dict[tuple[str, ...], Statement] = {}
    parts = islice(_split_sentences(text[match.end() :] if match else text), MOST_PARTS)
    for part in islice(filter(is_wanted, parts), MOST_PARSED):
        if (statement := _parse_statement(part, speaker)) is not None:
            distinct.setdefault((*(word.key for word in statement.words), *sorted(statement.others)), statement)
            if len(distinct) >= MOST_STATEMENTS:
                break
    return list(distinct.values())


def _split_sentences(text: str) -> Iterator[str]:
    for sentence in _SENTENCE_END.split(text):
        statement = sentence.strip()
        if bullet := _BULLET.match(statement):
            statement = statement[bullet.end() :]
        if not 0 < len(statement) <= MOST_CHARACTERS or statement.endswith(("?", "؟", "か。")):
            continue
        yield statement
        clauses = _CLAUSE_END.split(statement)
        if len(clauses) > 1 and statement.split()[0].lower() not in lists.CONDITIONS:
            yield from clauses


def _parse_statement(text: str, speaker: str | None) -> Statement | None:
    text = normalize_numbers(text)
    if _ANY_PHRASE.search(text):
        for pattern, replacement in lists.PHRASES:
            text = pattern.sub(replacement, text)
    tokens = list(_split_words(text))
    lower_tokens = [token.lower() for token in tokens]
    if not tokens or len(tokens) > 3 * MOST_WORDS or lower_tokens[0] in lists.UNKNOWN_SUBJECTS:
        return None
    words: list[Word] = []
    others: set[str] = set()
    before: list[str] = []
    old: list[list[str]] = []
    following = ""
    if not lists.SPEAKER_WORDS.isdisjoint(lower_tokens):
        words.append(Word(SPEAKER + (speaker or "").lower(), Kind.NAME, 0, ()))
    for index, (token, lower) in enumerate(zip(tokens, lower_tokens, strict=True)):
        if lower == "old_before" and words:
            old.append([words[-1].key])
        if _is_not_content(token, lower):
            if lower in lists.OLD_FOLLOWS or lower in lists.NO_LONGER:
                old.append([])
                following = lower
            elif lower in _ENDS_OLD or (following in lists.OLD_FOLLOWS and old[-1]):
                following = ""
            others.update((lower, "です") if lower.endswith(_COPULA_ENDS) else (lower,))
            before.append(lower)
            continue
        word = Word(key_of(token), _kind_of_token(tokens, index), len(words), tuple(before))
        if lower in lists.STATIVE and word.kind is Kind.WORD:
            others.add(lower)
        if following in lists.OLD_FOLLOWS and old[-1] and not _continues(words[-1], word):
            following = ""
        words.append(word)
        before = []
        if following:
            old[-1].append(word.key)
    if not 1 <= len(words) <= MOST_WORDS:
        return None
    return Statement(tuple(words), frozenset(others), tuple(tuple(span) for span in old if span))


def _continues(previous: Word, word: Word) -> bool:
    """Whether two adjacent words can be parts of one value (the part of a fact that can change).

    True for two names or numbers, two ordinary words, or an ordinary word and the number after it ("shelf 7").
    """
    if previous.kind is Kind.WORD:
        return word.kind is Kind.WORD or word.key[-1:].isdigit()
    return word.kind is not Kind.WORD


def _split_words(text: str) -> Iterator[str]:
    for match in _WORD.finditer(text):
        token = match[0].replace("’", "'")
        if contraction := _CONTRACTION.fullmatch(token):
            yield from (contraction[1], "is" if contraction[2] == "s" else "have")
            continue
        for part in (token,) if token.isascii() else _SCRIPTS.findall(token):
            if ordinal := _ORDINAL.fullmatch(part):
                yield ordinal[1]
            elif measure := _MEASURE.fullmatch(part):
                yield from measure.groups()
            elif part:
                yield part


def _is_not_content(word: str, lower: str) -> bool:
    if lower in _OTHERS:
        return word != "May"
    return word in TITLES or not word[0].isalnum() or "\u3041" <= word[0] <= "\u309f"


def _kind_of_token(tokens: list[str], index: int) -> Kind:
    token = tokens[index]
    if (token[0].isdigit() and not any(map(str.isalpha, token))) or token.lower() in lists.NUMBERS:
        return Kind.NUMBER
    if any(map(str.isdigit, token)) or "_" in token:
        return Kind.NAME
    if not token[0].isascii() and unicodedata.category(token[0]) == "Lo":
        return Kind.NAME if len(token) > 1 else Kind.WORD
    if token[0].isupper():
        following = " ".join([word for word in tokens[index + 1 : index + 5] if word.lower() not in _ADVERBS][:2])
        is_person = not lists.PERSONAL.isdisjoint((following, following.partition(" ")[0]))
        if index or is_person or token.endswith("'s") or token[1:] != token[1:].lower() or following[:1].isupper():
            return Kind.NAME
    return Kind.WORD


def key_of(token: str) -> str:
    """Return a word's key, which all its forms share: the word in lower case, without common endings."""
    lower = token.lower().removesuffix("'s").removesuffix("'")
    if lower in lists.NUMBERS:
        return lists.NUMBERS[lower]
    if any(map(str.isdigit, lower)):
        return lower.strip(".,")
    for suffix in _SUFFIXES:
        if lower.endswith(suffix) and len(lower) - len(suffix) >= 3 + (suffix not in ("s", "ing")):
            return lower.removesuffix(suffix)
    return lower


_COPULA_ENDS = ("です", "ます", "だ", "である")
_ADVERBS = lists.MARKERS | lists.NEGATIONS | lists.NO_LONGER
_ENDS_OLD = lists.CLAUSE_WORDS | lists.MARKERS | frozenset(",;:()")
_OTHERS = (
    _ADVERBS | lists.FUNCTION | lists.COPULAS | lists.OLD_FOLLOWS | lists.EVENTS | lists.SPEAKER_WORDS | {"old_before"}
)
