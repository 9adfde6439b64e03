"""Receipts of deletions: their content, and the verification, which fails if a receipt was changed."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from click.testing import CliRunner

from mnemosyne.adapters.signing import receipts
from mnemosyne.adapters.signing.key_files import KeyFiles
from mnemosyne.cli.main import cli
from mnemosyne.domain.forgetting import Forgetting, receipt_of
from mnemosyne.errors import InvalidRequest

IDS = [str(UUID(int=number)) for number in (1, 2)]
FORGETTING = Forgetting(
    id=UUID(int=9),
    namespace="ada",
    selection={"filters": {"any_tags": ["tea"]}},
    requested_by="key:1",
    started_at=datetime(2026, 5, 20, 12, tzinfo=UTC),
    finished_at=datetime(2026, 5, 20, 12, 1, tzinfo=UTC),
    counts={"memories": 2, "memory_words": 2},
    memories=2,
    left=0,
)


@pytest.fixture
def keys(tmp_path: Path) -> KeyFiles:
    return KeyFiles(tmp_path / "keys")


@pytest.fixture
def document(keys: KeyFiles) -> dict[str, Any]:
    receipt = receipt_of(FORGETTING, sha256("".join(f"{memory_id}\n" for memory_id in IDS).encode()).hexdigest())
    return {"receipt": receipt, **receipts.sign(receipt, keys), "ids": IDS}


def test_a_receipt_lists_the_removed_data_and_what_remains_until_when(document: dict[str, Any]) -> None:
    receipt = document["receipt"]
    assert (receipt["memories"], receipt["removed"]) == (2, FORGETTING.counts)
    assert receipt["selection"] == FORGETTING.selection
    assert {remain["until"] for remain in receipt["remains"]} == {"2026-05-27T12:01:00Z", "2026-06-03T12:01:00Z"}
    assert {
        "where": "messages in Pub/Sub, also delivered ones: seven days on the topic, then seven on a dead-letter topic",
        "until": "2026-06-03T12:01:00Z",
        "then": "deleted by Pub/Sub",
    } in receipt["remains"]


def test_a_receipt_is_verified_offline_with_its_own_or_a_trusted_key(document: dict[str, Any], keys: KeyFiles) -> None:
    thumbprint = document["key"]["kid"]
    read = json.loads(json.dumps(document))
    assert receipts.verify(read) == receipts.verify(read, keys.public_keys()) == thumbprint
    keys.rotate()
    assert receipts.verify(read, keys.public_keys()) == thumbprint


def _altered(fields: dict[str, object], document: dict[str, Any]) -> dict[str, Any]:
    return document | {"receipt": document["receipt"] | fields}


ALTERATIONS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    **{name: partial(_altered, {name: "x"}) for name in receipt_of(FORGETTING, "")},
    "a field more": partial(_altered, {"more": 1}),
    "a count": partial(_altered, {"removed": {"memories": 3, "memory_words": 2}}),
    "an id less": lambda document: document | {"ids": IDS[:1]},
    "another id": lambda document: document | {"ids": [IDS[0], str(UUID(int=3))]},
    "another order": lambda document: document | {"ids": IDS[::-1]},
    "another signature": lambda document: document | {"signature": document["signature"][:-8] + "AAAAAAAA"},
    "an unsigned token": lambda document: document | {"signature": "eyJhbGciOiJub25lIn0.e30."},
    "no ids": lambda document: {name: document[name] for name in ("receipt", "signature", "key")},
    "no signature": lambda document: {name: document[name] for name in ("receipt", "ids", "key")},
    "no key": lambda document: {name: document[name] for name in ("receipt", "ids", "signature")},
}


@pytest.mark.parametrize("alter", ALTERATIONS.values(), ids=ALTERATIONS)
def test_an_altered_receipt_is_refused(
    alter: Callable[[dict[str, Any]], dict[str, Any]], document: dict[str, Any]
) -> None:
    with pytest.raises(InvalidRequest):
        receipts.verify(alter(document))


def test_a_receipt_of_another_key_is_refused(document: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="another key has signed it"):
        receipts.verify(document, KeyFiles(tmp_path / "others").public_keys())


def test_an_access_token_of_the_same_key_is_refused_as_a_receipt(document: dict[str, Any], keys: KeyFiles) -> None:
    with pytest.raises(InvalidRequest, match="another type than the signature of a receipt"):
        receipts.verify(document | {"signature": keys.sign(document["receipt"])})


def test_the_verify_command_prints_valid_or_the_reason(document: dict[str, Any], tmp_path: Path) -> None:
    file, key = tmp_path / "receipt.json", tmp_path / "key.json"
    file.write_text(json.dumps(document))
    key.write_text(json.dumps({"keys": [document["key"]]}))
    result = CliRunner().invoke(cli, ["receipt", "verify", str(file), "--key", str(key)])
    assert result.output == (
        "Valid: 2 memories of the namespace ada forgotten from 2026-05-20T12:00:00Z to 2026-05-20T12:01:00Z.\n"
        f"Signed by the key {document['key']['kid']}.\n"
    )
    file.write_text(json.dumps(document | {"ids": []}))
    result = CliRunner().invoke(cli, ["receipt", "verify", str(file)])
    assert (result.exit_code, str(result.exception)) == (1, "the ids were altered after the receipt was signed")
