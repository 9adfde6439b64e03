"""Removal of forgotten memories from a message: what remains of its other memories."""

import pytest

from mnemosyne.domain.memory import FailedRequest, IngestRequest
from mnemosyne.domain.message import read_each
from mnemosyne.domain.pubsub_message import Published
from mnemosyne.domain.redaction import redact

SECRET = b'{"content": "secret", "timestamp": "2026-05-20"}'
KEPT = b'{"content": "kept", "timestamp": "2026-05-20", "metadata": {"x": 1.5, "y": ["\xc3\xa9"]}}'
NESTED = 990


def _message(*records: bytes) -> Published:
    data = b'{"memories": [%b]}' % b", ".join(records)
    return Published(message_id="1", data=data, attributes={"namespace": "ns"}, publish_time="2026-05-20T12:00:00Z")


def _redacted(message: Published, forgotten: set[int]) -> Published:
    data = redact(read_each(message, "ns"), forgotten)
    assert data is not None
    return Published(message_id="2", data=data, attributes=message.attributes, publish_time=message.publish_time)


@pytest.mark.parametrize(
    "invalid",
    [
        b'{"content": "caf\xc3\xa9 \\ud800", "timestamp": "2026-05-20"}',
        b'{"content": "caf\xe9", "timestamp": "2026-05-20"}',
        b'{"content": "a", "timestamp": "2026-05-20", "metadata": {"x": NaN}}',
        b'{"content": "a\\ud800", "timestamp": "2026-05-20", "metadata": {"x": 123456789012345678901234567890}}',
        b'{"content": "a", "timestamp": "2026-05-20", "metadata": {"x": %b}}' % (b"[" * 300 + b"]" * 300),
    ],
)
def test_an_invalid_memory_stays_as_it_was(invalid: bytes) -> None:
    message = _message(SECRET, invalid, KEPT)
    item, failed = read_each(message, "ns")[1]
    forgotten, (invalid_item, invalid_reading), (_, kept) = read_each(_redacted(message, {0}), "ns")
    assert isinstance(forgotten[1], FailedRequest)
    assert repr({**invalid_item, "request_id": None}) == repr({"request_id": None, **item})
    assert invalid_reading == failed
    assert isinstance(kept, IngestRequest)
    assert kept.content == "kept"


def test_the_error_about_a_too_deeply_nested_memory_is_kept() -> None:
    deep = b'{"content": "a", "timestamp": "2026-05-20", "metadata": {"x": %b}}' % (b"[" * NESTED + b"]" * NESTED)
    message = _message(SECRET, deep)
    _, failed = read_each(message, "ns")[1]
    assert isinstance(failed, FailedRequest)
    assert read_each(_redacted(message, {0}), "ns")[1][1] == failed


def test_nothing_remains_of_a_message_with_only_forgotten_memories() -> None:
    assert redact(read_each(_message(SECRET), "ns"), {0}) is None
