"""What is searched for and what is found. Pure."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from mnemosyne.domain.memory import Memory


class TagMatch(StrEnum):
    """Whether a memory must carry any or all of the tags asked for."""

    ANY = "any"
    ALL = "all"


@dataclass(frozen=True, kw_only=True)
class Filters:
    """What narrows the set that is searched: `after` inclusive, `before` exclusive, both UTC."""

    after: datetime | None = None
    before: datetime | None = None
    tags: tuple[str, ...] = ()
    tag_match: TagMatch = TagMatch.ANY

    @property
    def any(self) -> bool:
        """Whether there is a filter at all."""
        return bool(self.after or self.before or self.tags)


@dataclass(frozen=True, kw_only=True)
class Hit:
    """One memory found, with `relevance` in [0, 1]."""

    memory: Memory
    relevance: float
