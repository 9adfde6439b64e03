"""Ports of the ingest queue and of the topic for outcomes."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from mnemosyne.domain.memory import (
    Reading,
)
from mnemosyne.domain.outcome import Outcome


class IngestQueue(Protocol):
    """Where accepted requests wait to be stored."""

    def publish(self, namespace: str, readings: Sequence[Reading]) -> None:
        """Return once the requests are durable, all in one message; raises Unavailable where none is."""

    def check(self) -> str:
        """Return what is seen of the queue; raises Unavailable where nothing could be published to it."""

    def republish(self, data: bytes, attributes: Mapping[str, str]) -> None:
        """Return once a message, as it was published before, is durable again; raises Unavailable."""


class OutcomeTopic(Protocol):
    """Where publishers are told what became of what they published."""

    def publish(self, outcomes: Sequence[Outcome]) -> None:
        """Return once all are durable; raises Unavailable where one is not: all may be published again."""
