"""The memories that are nearest to a memory by meaning. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from mnemosyne.domain.memory import MemorySummary


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """The memories nearest to a memory, nearest first, without superseded (replaced) memories."""

    content: str
    """Beginning of the content of the memory whose neighbours these are."""
    similar: Sequence[MemorySummary]
    """Up to three of the neighbours: those with nearly the same meaning as the memory."""
    earlier: Sequence[tuple[MemorySummary, str]]
    """The neighbours whose timestamp is earlier than that of the memory, each with its content."""

    @property
    def may_replace(self) -> Sequence[MemorySummary]:
        """Up to three earlier neighbours that the memory seems to replace: it states another value of a fact."""
        from mnemosyne.domain import changed_facts  # imported only when used, for a shorter cold start

        return changed_facts.replaced_ids(self.content, self.earlier) if self.earlier else ()
