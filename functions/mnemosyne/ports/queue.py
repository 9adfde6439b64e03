"""Ports of the ingest queue, and of the topics that report outcomes of requests and changes of memories."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from mnemosyne.domain.change_feed import ChangeEvent
from mnemosyne.domain.memory import Reading
from mnemosyne.domain.outcome import Outcome
from mnemosyne.domain.provenance import Publisher


class IngestQueue(Protocol):
    """Queue of accepted ingest requests that wait to be stored."""

    def publish(self, namespace: str, readings: Sequence[Reading], publisher: Publisher | None = None) -> None:
        """Publish the requests in one message and wait until it is durable.

        Raises Unavailable if publishing fails, and UncertainPublication if the message may have been published.
        """

    def check(self) -> str:
        """Return a description of the queue's state for health checks. Raises Unavailable if publishing would fail."""

    def republish(self, data: bytes, attributes: Mapping[str, str]) -> None:
        """Publish a message again, unchanged, and wait until it is durable. Raises Unavailable."""


class OutcomeTopic(Protocol):
    """Topic that reports the outcomes of requests to publishers."""

    def publish(self, outcomes: Sequence[Outcome]) -> None:
        """Publish the outcomes and wait until all are durable.

        Raises Unavailable if one outcome is not durable. The caller may then publish all outcomes again.
        """


class ChangeTopic(Protocol):
    """Topic of the change feed, which reports changes of memories."""

    def publish(self, events: Sequence[ChangeEvent]) -> None:
        """Publish the events and wait until all are durable.

        The events of each memory are published in the order in which `events` lists them. Raises Unavailable if one
        event is not durable. The caller may then publish all events again.
        """
