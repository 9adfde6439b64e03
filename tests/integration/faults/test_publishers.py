"""Restricted publishers and their outcomes, with the topics and subscriptions that Terraform creates."""

import json
from typing import Any

import pytest

from tests.integration.faults.conftest import UNUSABLE, Cloud

pytestmark = pytest.mark.exhaustive  # each takes seconds to minutes, because processes are killed and frozen


def _memory(content: str, **fields: Any) -> bytes:
    return json.dumps({"content": content, "timestamp": "2026-05-20T12:00:00Z", **fields}).encode()


def test_a_publisher_writes_to_its_own_namespace_and_a_message_that_names_another_is_refused(
    cloud: Cloud,
) -> None:
    topic = cloud.admit_publisher()
    cloud.publish(topic, _memory("mine", source="crm", key="1"))
    cloud.publish(topic, _memory("mine too", source="crm", key="2"), namespace=cloud.namespace)
    cloud.publish(topic, _memory("theirs", source="crm", key="3"), namespace="victim")
    cloud.publish(topic, _memory("theirs", source="crm", key="4", namespace="victim"))
    event = {"specversion": "1.0", "type": "t", "source": "crm", "id": "5", "namespace": "victim"}
    cloud.publish(topic, json.dumps({**event, "data": json.loads(_memory("theirs"))}).encode())
    events = {event["key"]: event for event in cloud.told(5)}
    assert {key: event["state"] for key, event in events.items()} == {
        "1": "stored", "2": "stored", "3": "failed", "4": "failed", "5": "failed",
    }  # fmt: skip
    refused = f'namespace must be "{cloud.namespace}", got "victim"'
    assert {events[key]["error"] for key in "345"} == {refused}
    victim = cloud.system.memories_of("victim").stats()
    assert (victim.memories, victim.pending, victim.dead_letters) == (0, 0, 0)


def test_a_dead_letter_of_a_publisher_stays_in_its_namespace_and_is_reported(cloud: Cloud) -> None:
    topic = cloud.admit_publisher()
    cloud.gemini.fault = lambda server: UNUSABLE if "poison" in str(server.requests[-1]) else None
    message_id = cloud.publish(topic, _memory("poison", source="crm", key="1"))
    (event,) = cloud.told(1)
    assert (event["state"], event["key"]) == ("dead_lettered", "1")
    assert "returned 0 vectors for 1 texts" in event["error"]
    assert event["message_id"] != message_id  # forwarding changes the id
    (dead_letter,) = cloud.system.memories_of(cloud.namespace).dead_letters(100)
    assert dead_letter.data == _memory("poison", source="crm", key="1")
