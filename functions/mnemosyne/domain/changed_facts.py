"""Find earlier memories with a fact whose value is different in a new memory, such as another port. Pure.

A statement is a sentence or clause. Its content words are all its words except function words such as "the". The rules
compare statements, not whole memories (docs/decisions/0033), and report nothing in doubtful cases. A statement of the
new memory states another value than a statement of an earlier memory if

- it negates the earlier statement, or
- it says that the earlier value is no longer true ("from 7 to 9", "no longer on 7"), or
- only one value differs (a number, a name, or a word after the subject), and the new statement reports a change
  ("now"), or
- only one value differs, and both statements describe a lasting state ("is", "costs").
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import islice, pairwise
from typing import TypeVar

from mnemosyne.domain import change_words as lists
from mnemosyne.domain.number_forms import UNITS
from mnemosyne.domain.statements import SPEAKER, Kind, Statement, Word, key_of, statements

MOST_HINTS = 3
MOST_PAIRS = 20_000
"""Maximum pairs of statements that are compared for one new memory."""

_Id = TypeVar("_Id")


def replaced_ids(content: str, earlier: Iterable[tuple[_Id, str]]) -> list[_Id]:
    """Return the ids of up to three earlier memories that state a different value of a fact than the new content."""
    new = _NewStatements([statement for statement in statements(content) if statement.may_be_fact])
    return list(islice((key for key, text in earlier if new.replaces_any(text)), MOST_HINTS))


class _NewStatements:
    """The statements of the new memory, indexed by their content words (all words except words such as "the")."""

    def __init__(self, new: Sequence[Statement]) -> None:
        self._statements = new
        self._by_key: dict[str, list[int]] = {}
        self._remaining_pairs = MOST_PAIRS
        for number, statement in enumerate(new):
            for key in statement.keys:
                self._by_key.setdefault(key, []).append(number)
        self._starts = frozenset(_STARTS.findall(" ".join(filter(_can_be_subject, self._by_key))))

    def replaces_any(self, earlier: str) -> bool:
        """Whether the new memory states another value than a statement in the text of an earlier memory."""
        if not self._statements:
            return False
        for old in statements(earlier, self._shares_words):
            counts = Counter(number for key in old.keys for number in self._by_key.get(key, ()))
            for number, count in counts.items():
                if len(old.keys) - count > max(_MOST_VALUE_WORDS, count - 1):
                    continue  # states_another_value rejects a pair whose words differ this much
                self._remaining_pairs -= 1
                if self._remaining_pairs < 0:
                    return False
                if states_another_value(self._statements[number], old):
                    return True
        return False

    def _shares_words(self, part: str) -> bool:
        """Whether a sentence of an earlier memory possibly shares a word with a statement of the new memory.

        This quick test compares only the first letters of words. It is true for every sentence in an East Asian script,
        because such scripts have no spaces between words.
        """
        return max(part, default="") >= _FIRST_OF_EAST_ASIA or bool(self._starts & set(_STARTS.findall(part.lower())))


_MOST_DIFFERING = 2
"""Maximum number of function words by which a statement and its negation differ, such as "does" in "does not run"."""
_MOST_VALUE_WORDS = 3
_FIRST_OF_EAST_ASIA = "\u3040"
_STARTS = re.compile(r"(?<![^\W\d_])[^\W\d_]{1,3}")
"""The first three letters of each word. All forms of a word share them: `key_of` removes only later letters."""


def states_another_value(new: Statement, old: Statement) -> bool:
    """Return whether the new statement states another value of the fact that the old statement states."""
    common_keys = new.keys & old.keys
    only_new = [word for word in new.words if word.key not in common_keys]
    only_old = [word for word in old.words if word.key not in common_keys]
    if not _has_subject(common_keys, new, old) or _has_similar_name(new, old) or _has_other_noun(new, old, common_keys):
        return False
    if _is_negation(new, old, only_new, only_old):
        return True
    old_keys = {key for span in new.old for key in span}
    value = [word for word in only_new if word.key not in old_keys]
    if any(span[-1] in common_keys for span in new.old):
        return _names_old_value(new, old, common_keys, value, only_old)
    if not value or not only_old or not _is_value(value):
        return False
    is_at_end = _ends_statement(value, new, old_keys, is_change=new.is_change)
    return is_at_end and _differ_only_in_value(value, only_old, new, old)


def _can_be_subject(key: str) -> bool:
    return not key.startswith(SPEAKER) and key not in _UNIT_KEYS


def _has_subject(shared: frozenset[str], new: Statement, old: Statement) -> bool:
    if not any(_can_be_subject(key) and old.by_key[key].kind is not Kind.NUMBER for key in shared):
        return False
    kinds = [old.by_key[key].kind for key in shared]
    if Kind.NAME in kinds:
        return True
    words = kinds.count(Kind.WORD)
    return words >= 2 or (words == 1 and min(len(new.words), len(old.words)) <= 3)


def _has_similar_name(new: Statement, old: Statement) -> bool:
    """Whether the statements have different names that share a word, such as "Anna Berg" and "Anna Lind".

    A name and a longer form of it, such as "Anna" and "Anna Berg", do not count as different names.
    """
    return any(
        not a.isdisjoint(b) and not a <= b and not b <= a for a in new.names for b in old.names if len(a) + len(b) > 2
    )


def _is_negation(new: Statement, old: Statement, only_new: Sequence[Word], only_old: Sequence[Word]) -> bool:
    """Whether one statement is the negation of the other.

    They have the same content words, but only one has a negation, or one has "on" or "up" and one "off" or "down".
    """
    is_explicit = not lists.NO_LONGER.isdisjoint(new.others | old.others)
    if only_new or only_old or len([key for key in old.keys if not key.startswith(SPEAKER)]) < 2 - is_explicit:
        return False
    if new.is_negated != old.is_negated:
        differing = (new.others ^ old.others) - lists.NEGATIONS - lists.NO_LONGER - lists.MARKERS
        return len(differing) <= _MOST_DIFFERING
    return (new.others ^ old.others) & _SWITCH_WORDS in _SWITCHES


def _has_other_noun(new: Statement, old: Statement, shared: frozenset[str]) -> bool:
    """Whether the statements are about different things, such as "the export worker" and "the mobile worker"."""
    if any(_begins_noun(a, shared) for a in new.words) and any(_begins_noun(b, shared) for b in old.words):
        return True
    for key in shared:
        if _begins_noun(new.by_key[key]) and _begins_noun(old.by_key[key]):
            following = _following_word(new, new.by_key[key]), _following_word(old, old.by_key[key])
            if all(word is not None and word.key not in shared for word in following):
                return True
    return False


def _begins_noun(word: Word, shared: Collection[str] = ()) -> bool:
    """Whether this word begins a noun of one or more words, such as "billing" in "the billing gateway".

    Such a word is neither a name nor a number. It is the statement's first content word, or follows a word such as
    "the". The result is false for words in `shared`, the words that both compared statements contain.
    """
    if word.kind is not Kind.WORD or word.key in shared:
        return False
    return word.place == 0 or not lists.DETERMINERS.isdisjoint(word.before)


def _following_word(statement: Statement, word: Word) -> Word | None:
    """Return the content word directly after a word. None if a name, a number, a function word or nothing follows."""
    following = statement.words[word.place + 1 : word.place + 2]
    return following[0] if following and following[0].kind is Kind.WORD and not following[0].before else None


def _names_old_value(
    new: Statement, old: Statement, shared: frozenset[str], value: Sequence[Word], only_old: Sequence[Word]
) -> bool:
    """Whether the new statement says that the old statement's value is no longer true: "from 7", "no longer 7"."""
    if any(word.kind is not Kind.WORD for word in only_old) or old.is_negated or not new.is_change:
        return False
    if not (value or new.is_negated) or not _share_definite_noun(shared, new, old):
        return False
    if any(span[-1] in new.keys for span in old.old):
        return False  # the earlier statement already reports a change of this value
    values = [word for word in value if word.kind is not Kind.WORD] or value
    for key in {span[-1] for span in new.old} & shared:
        kind = old.by_key[key].kind
        unit = _following_word(old, old.by_key[key]) if kind is Kind.NUMBER else None
        if unit is not None and unit.key not in shared:
            return False
        if values and values[0].place > 0 and kind_of(values) is not kind:
            return False
    return (
        _is_value(values) and len(value) - len(values) <= 3 and len(shared) >= 2 and len(only_old) < max(2, len(shared))
    )


def _share_definite_noun(shared: frozenset[str], new: Statement, old: Statement) -> bool:
    """Whether both statements contain the same name, or the same noun after an article such as "the"."""
    pairs = [(new.by_key[key], old.by_key[key]) for key in shared]
    return any(all(map(_is_definite, pair)) for pair in pairs)


def _is_value(words: Sequence[Word]) -> bool:
    """Whether the words are one value: up to three adjacent words. All are ordinary words, or none is."""
    kinds = {word.kind for word in words}
    if len(words) > _MOST_VALUE_WORDS or (Kind.WORD in kinds and len(kinds) > 1):
        return False
    return all(b.place == a.place + 1 and not b.before for a, b in pairwise(words))


def _ends_statement(value: Sequence[Word], new: Statement, old_keys: Collection[str], *, is_change: bool) -> bool:
    """Whether the value follows the subject and ends the statement. Only its noun may follow it, as in "24 nodes"."""
    if value[0].place == 0:
        return False
    after = [word for word in new.words[value[-1].place + 1 :] if word.key not in old_keys]
    if kind_of(value) is Kind.NUMBER:
        return all(word.kind is not Kind.NUMBER for word in after)
    if kind_of(value) is Kind.WORD and is_change:
        return not after or lists.DETERMINERS.isdisjoint(value[0].before)
    is_one_noun = all(word.kind is Kind.WORD and not word.before for word in after)
    return is_one_noun or not lists.COPULAS.isdisjoint(value[0].before)


def _differ_only_in_value(value: Sequence[Word], earlier: Sequence[Word], new: Statement, old: Statement) -> bool:
    """Whether the statements differ only in one value, which follows the subject."""
    if not _is_value(earlier) or not _ends_statement(earlier, old, (), is_change=new.is_change):
        return False
    if {word.kind for word in value} != {word.kind for word in earlier} or _is_part_of_name(value, new):
        return False
    return _RULES[kind_of(value)](value, earlier, new, old)


def _numbers_differ(value: Sequence[Word], earlier: Sequence[Word], new: Statement, old: Statement) -> bool:
    if _is_number_of_subject(value, new) or not new.others.isdisjoint(lists.EVENTS):
        return False
    if new.is_change or not (new.others or old.others):
        return True
    return all(statement.is_stative or not statement.others.isdisjoint(lists.COUNTING) for statement in (new, old))


def _is_number_of_subject(value: Sequence[Word], new: Statement) -> bool:
    """Whether the number belongs to the subject's name, as in "room 12 is free"."""
    previous, after = new.words[value[0].place - 1], new.words[value[-1].place + 1 :]
    is_amount = bool(value[0].before) or previous.key in _STATIVE_KEYS or bool(after and not after[0].before)
    if is_amount or previous.key[0] >= _FIRST_OF_EAST_ASIA:
        return False
    # In "is LH 442 on Friday", the name LH belongs to the value 442, and not to the subject before "is".
    is_part_of_value = previous.kind is Kind.NAME and bool(previous.before)
    return value[0].place == 1 or bool(after and not is_part_of_value)


def _names_differ(value: Sequence[Word], earlier: Sequence[Word], new: Statement, old: Statement) -> bool:
    prepositions = [set(word.before) & lists.FUNCTION - lists.DETERMINERS for word in (value[0], earlier[0])]
    if new.old or (all(prepositions) and prepositions[0] != prepositions[1]):
        return False
    return _is_definite(new.words[0]) and (new.is_change or (new.is_stative and old.is_stative))


def _words_differ(value: Sequence[Word], earlier: Sequence[Word], new: Statement, old: Statement) -> bool:
    after = new.words[value[-1].place + 1 :]
    if {value[0].key, earlier[0].key} in _SWITCHES:
        return True
    articles = lists.DETERMINERS | lists.MARKERS | {"a", "an"}
    # "prefers short answers" and "prefers dark mode" are about two things, unlike "prefers to go by car" and "by bus".
    first = new.by_key["prefer"].place + 1 if "prefer" in new.keys and not after else value[-1].place
    if value[-1].place > first and (value[0].place == first or not value[0].before):
        return False
    if len(value) != len(earlier) or new.old or set(value[0].before) - articles != set(earlier[0].before) - articles:
        return False
    before = set(value[0].before)
    is_final = not after and before.isdisjoint(lists.DETERMINERS | _SEVERAL) and _is_definite(new.words[0])
    return new.is_change or (is_final and new.is_stative and old.is_stative)


_RULES = {Kind.NUMBER: _numbers_differ, Kind.NAME: _names_differ, Kind.WORD: _words_differ}
_SWITCHES = tuple(
    frozenset(map(key_of, pair.split()))
    for pair in ("on off", "up down", "open closed", "enabled disabled", "active inactive", "allowed forbidden")
)
_SWITCH_WORDS = frozenset(("on", "off", "up", "down"))
_STATIVE_KEYS, _UNIT_KEYS = (frozenset(map(key_of, words)) for words in (lists.STATIVE, UNITS))
_SEVERAL = frozenset(["for", "of", "with", "about", "für", "von", "mit", "para", "con", "pour", "avec"])
"""Words before a value that is often one of several. A person can be both "responsible for billing" and "responsible
for support", so these two statements do not contradict each other."""


def _is_definite(word: Word) -> bool:
    return word.kind is Kind.NAME or not lists.DETERMINERS.isdisjoint(word.before)


def _is_part_of_name(value: Sequence[Word], new: Statement) -> bool:
    """Whether the value continues a noun or name, as "gateway" in "the billing gateway" and "Lind" in "Anna Lind"."""
    previous = new.words[value[0].place - 1]
    if value[0].before:
        return False
    if previous.kind is Kind.NAME and value[0].kind is Kind.NAME:
        return True
    return (
        previous.kind is Kind.WORD and value[0].kind is Kind.WORD and not lists.DETERMINERS.isdisjoint(previous.before)
    )


def kind_of(words: Sequence[Word]) -> Kind:
    """Return NUMBER if any word is a number, else NAME if any word is a name, else WORD."""
    kinds = {word.kind for word in words}
    return Kind.NUMBER if Kind.NUMBER in kinds else Kind.NAME if Kind.NAME in kinds else Kind.WORD
