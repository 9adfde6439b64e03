"""Messages of other publishers to the topic: each has an outcome. With the emulator, `mnemosyne dev` and the commands.

The messages are those that people sent at first, by hand and by scripts, before the format of messages was documented.
"""

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.publisher import Publisher, publishing
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
WHEN = "2026-05-20T12:00:00Z"
IN_DEFAULT = {"namespace": "default"}


@pytest.fixture(scope="module")
def publisher(emulator: str) -> Iterator[Publisher]:
    with publishing(emulator) as new_publisher:
        yield new_publisher


def _memory(content: str, **fields: Any) -> dict[str, Any]:
    return {"content": content, "timestamp": WHEN, **fields}


def test_each_published_message_has_a_final_outcome(publisher: Publisher) -> None:
    ids = {name: str(uuid.uuid4()) for name in ("neighbour", "body key", "version", "attribute", "cut")}
    publish = publisher.publish
    message_ids = {
        "an odd neighbour": publish(
            {"schema_version": 1, "memories": [_memory("neighbour", request_id=ids["neighbour"]), {"content": "x"}]},
            **IN_DEFAULT,
        ),
        "an unknown key": publish(
            {"schema_version": 1, "by": "etl", "memories": [_memory("body key", request_id=ids["body key"])]},
            **IN_DEFAULT,
        ),
        "101 memories": publish({"memories": [_memory(f"m{n}") for n in range(101)]}, **IN_DEFAULT),
        "an id that is none": publish({"memories": [_memory("id", request_id="ticket-17")]}, **IN_DEFAULT),
        "an unknown version": publish(
            _memory("version", schema_version="one", request_id=ids["version"]), **IN_DEFAULT
        ),
        "a bare memory": publish(_memory("bare"), **IN_DEFAULT),
        "a bare memory that lacks its time": publish({"content": "when?"}, **IN_DEFAULT),
        "an array": publish([_memory("array")], **IN_DEFAULT),
        "text": publish(b"remember the milk", **IN_DEFAULT),
        "cut short": publish(json.dumps(_memory("cut", request_id=ids["cut"])).encode()[:-1] + b"!", **IN_DEFAULT),
        "no namespace": publish(_memory("whose?")),
        "no namespace, and no JSON": publish(b"\xff"),
    }

    def is_listed() -> bool:
        return len(publisher.rows("outcomes")) == 112 and len(_dead_letters(publisher, "")) == 2

    wait_until(lambda: publisher.dev.call("memory_stats", {})["memories"] == 103, "the valid memories are stored")
    wait_until(is_listed, "every message has its outcome")
    outcomes = publisher.rows("outcomes")
    assert {row["request_id"]: row["state"] for row in outcomes if row["request_id"] in ids.values()} == {
        ids["neighbour"]: "stored",
        ids["body key"]: "stored",
        ids["version"]: "failed",
        ids["cut"]: "failed",
    }
    states = [row["state"] for row in outcomes]
    assert (states.count("stored"), states.count("failed"), states.count("dead_lettered")) == (103, 6, 3)
    assert {row["message_id"] for row in outcomes} - {None} == {
        message_ids["an array"],
        message_ids["text"],
        message_ids["cut short"],
    }
    assert set(_dead_letters(publisher, "")) == {message_ids["no namespace"], message_ids["no namespace, and no JSON"]}
    stats = publisher.dev.call("memory_stats", {})
    assert (stats["memories"], stats["pending"], stats["dead_letters"]) == (103, 0, 3)


def _dead_letters(publisher: Publisher, namespace: str) -> dict[str, dict[str, Any]]:
    return {row["message_id"]: row for row in publisher.rows("dead-letters", "list", "--namespace", namespace)}


def test_a_command_run_in_parallel_to_dev_takes_no_messages_of_the_emulator(publisher: Publisher) -> None:
    publisher.run("redrive", "--dry-run")
    publisher.publish(_memory("after a command", source="test", key="after"), **IN_DEFAULT)
    arguments = ("outcomes", "--source", "test")
    wait_until(lambda: [row["state"] for row in publisher.rows(*arguments)] == ["stored"], "dev stores what comes")


def test_a_dead_letter_without_a_namespace_is_redriven_with_one_and_stored(publisher: Publisher) -> None:
    message_id = publisher.publish(_memory("found an owner", source="lost", key="1"))
    wait_until(lambda: message_id in _dead_letters(publisher, ""), "the message is kept for the operator")
    publisher.run("redrive", "--namespace", "", "--into", "default", "--message-id", message_id)
    arguments = ("outcomes", "--source", "lost")
    wait_until(lambda: [row["state"] for row in publisher.rows(*arguments)] == ["stored"], "it is stored")
    wait_until(lambda: message_id not in _dead_letters(publisher, ""), "its letter is deleted")


def test_the_message_schema_is_served_as_documented(publisher: Publisher) -> None:
    served = publisher.dev.client.get(publisher.dev.url.replace("/mcp", "/schemas/message.v1.json"))
    assert served.headers["content-type"] == "application/schema+json"
    assert served.json() == json.loads((ROOT / "docs" / "message.v1.schema.json").read_text())


def test_a_dead_letter_is_shown_byte_for_byte_and_dropped(publisher: Publisher) -> None:
    message_id = publisher.publish(b"\x00\xff not JSON", **IN_DEFAULT)
    wait_until(lambda: message_id in _dead_letters(publisher, "default"), "the message is kept")
    assert _dead_letters(publisher, "default")[message_id]["bytes"] == 11
    letter_text = publisher.start("dead-letters", "show", message_id)
    assert letter_text.communicate(timeout=60)[0] == b"\x00\xff not JSON"
    publisher.run("dead-letters", "drop", message_id)
    assert message_id not in _dead_letters(publisher, "default")
    with publisher.start("dead-letters", "drop", message_id) as again:
        assert again.wait(60) == 1


def test_followed_outcomes_are_printed_once_each(publisher: Publisher) -> None:
    following = publisher.start("outcomes", "--source", "followed", "--follow", "--json")
    assert following.stdout
    lines = []
    for number in range(3):
        publisher.publish(_memory(f"followed {number}", source="followed", key=number), **IN_DEFAULT)
        lines.append(json.loads(following.stdout.readline()))
    following.terminate()  # not by SIGINT, which children ignore if the test run is in the background
    rest, errors = following.communicate(timeout=60)
    assert [(line["key"], line["state"]) for line in lines] == [(str(n), "stored") for n in range(3)]
    assert (rest, errors.strip()) == (b"", b"3 outcomes: 3 stored.")
