"""Ports of the ingest queue, and of the topic that reports outcomes of requests and changes of memories."""

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

from mnemosyne.domain.memory import Reading
from mnemosyne.domain.provenance import Publisher

MessageT = TypeVar("MessageT", contravariant=True)


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


class Topic(Protocol[MessageT]):
    """Topic that reports outcomes of requests (Outcome) or changes of memories (ChangeEvent)."""

    def publish(self, messages: Sequence[MessageT]) -> None:
        """Publish the messages and wait until all are durable.

        The changes of each memory are published in the order in which `messages` lists them. Raises Unavailable if one
        message is not durable. The caller may then publish all messages again.
        """
