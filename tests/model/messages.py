"""Messages of every kind, drawn by Hypothesis."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import orjson
from hypothesis import strategies as st

from mnemosyne.domain.pubsub_message import FIRST_PUBLISHED, Published
from tests.fakes import NOW
from tests.model.delivery import IMMUTABLE

TROUBLESOME = ("poison", "burden")
"""Contents that the embedder sometimes refuses."""
CONTENTS = ("a", "b", "c", *TROUBLESOME)
"""Contents of memories, with and without a key."""
IDS = [str(UUID(int=0x0192F3A4_0000_7000_8000_000000000000 + n)) for n in range(3)]
"""Request ids that publishers give, sometimes to different contents."""
SECONDS = st.integers(0, 3)
PUBLISHED = SECONDS | st.integers(0, 3).map(lambda second: 10**9 + second)
"""Times at which messages are published, in seconds after NOW. They are before or after all outcomes."""


def _at(second: int) -> str:
    return (NOW + timedelta(seconds=second)).isoformat()


@st.composite
def _records(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["memory", "memory", "version", "version", "version", "deletion", "bad"]))
    record: dict[str, Any] = {"timestamp": _at(draw(SECONDS))}
    if kind == "memory" or draw(st.integers(0, 9)) == 0:
        record["request_id"] = draw(st.sampled_from(IDS))
    if kind in ("version", "deletion"):
        record |= {"source": draw(st.sampled_from(["crm", "crm", IMMUTABLE])), "key": draw(st.sampled_from("kl"))}
    if kind == "deletion":
        return record | {"op": "delete"}
    return record | {"content": draw(st.sampled_from(CONTENTS)) if kind != "bad" else ""}


@st.composite
def messages(draw: st.DrawFn) -> tuple[bytes, dict[str, str]]:
    """Return the data and attributes of a message with up to three records.

    A few messages have a version of the format that is newer than their reader knows.
    """
    records = draw(st.lists(_records(), min_size=1, max_size=3))
    version = 2 if draw(st.integers(0, 11)) == 0 else 1
    data = orjson.dumps({"memories": records, "schema_version": version})
    return data, {FIRST_PUBLISHED: _at(draw(PUBLISHED))}


def published(namespace: str, number: int, data: bytes, attributes: dict[str, str]) -> Published:
    """Return the message as Pub/Sub delivers it."""
    return Published(message_id=f"message-{number}", data=data, attributes={**attributes, "namespace": namespace})
