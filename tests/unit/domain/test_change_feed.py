"""Events of the change feed as messages."""

from uuid import UUID

import pytest

from mnemosyne.domain.change_feed import ChangeEvent, ChangeKind
from mnemosyne.domain.pubsub_message import NAMESPACE_CHARACTERS, VALUE_BYTES
from tests.fakes import NOW


def _event(namespace: str) -> ChangeEvent:
    return ChangeEvent(
        namespace=namespace,
        sequence=1,
        memory_id=UUID(int=10),
        kind=ChangeKind.CREATED,
        fields=(),
        superseded_by=None,
        at=NOW,
    )


@pytest.mark.parametrize("namespace", ["support", "記憶" * 150, "𝕏" * 255, "𝕏" * 256, "𝕏" * NAMESPACE_CHARACTERS])
def test_pubsub_accepts_the_ordering_key_of_each_namespace(namespace: str) -> None:
    key = _event(namespace).ordering_key
    assert len(key.encode()) <= VALUE_BYTES
    assert key.endswith("/a") and key != _event(namespace[:-1]).ordering_key
    assert key.startswith(namespace) or len(namespace.encode()) > VALUE_BYTES - 2
