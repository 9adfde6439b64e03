"""The memories that are nearest to a memory by meaning. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from mnemosyne.domain.memory import MemorySummary


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """The memories nearest to a memory, nearest first, without superseded (replaced) memories."""

    content: str
    """Beginning of the content of the memory to which the others are near."""
    similar: Sequence[MemorySummary]
    """Up to three of the memories that have nearly the same meaning."""
    earlier: Sequence[tuple[MemorySummary, str]]
    """The neighbours with an earlier timestamp, with their contents."""

    @property
    def may_replace(self) -> Sequence[MemorySummary]:
        """Up to three earlier memories that this memory seems to replace, because the values of a fact differ."""
        from mnemosyne.domain import changed_facts  # imported only when used, for a shorter cold start

        return changed_facts.replaced_ids(self.content, self.earlier) if self.earlier else ()
