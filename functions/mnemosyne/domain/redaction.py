"""Remove the texts of forgotten memories from the data of a message. Pure.

A forgetting is the deletion of selected memories with all their texts.
"""

import json
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Any

import orjson

from mnemosyne.domain.memory import FailedRequest, Reading
from mnemosyne.domain.memory_input import SCHEMA_VERSION
from mnemosyne.domain.message import FORGOTTEN, encode_record


def redact(entries: Sequence[tuple[Any, Reading]], positions: Collection[int]) -> bytes | None:
    """Return the data of a message without the texts of its forgotten memories.

    `entries` is the result of `message.read_each`, and `positions` has the indexes of the forgotten memories in
    `entries`. In the data, a forgotten memory is replaced by its request id and an error. The other memories keep their
    request ids, sources and keys, and their order. Returns None if all memories are forgotten.
    """
    if len(positions) == len(entries):
        return None
    memories = b",".join(
        _to_json(FailedRequest(request_id=reading.request_id, error=FORGOTTEN))
        if index in positions
        else _republished_record(item, reading)
        for index, (item, reading) in enumerate(entries)
    )
    return b'{"schema_version":%d,"memories":[%b]}' % (SCHEMA_VERSION, memories)


def _republished_record(item: Any, reading: Reading) -> bytes:
    """Return the JSON of a record whose memory is not forgotten, for the redacted message.

    To an invalid record, only its request id, source and key are added, if they are missing. If an invalid record is
    not an object, or is nested too deeply to be encoded, the result has its error instead of its fields.
    """
    if isinstance(item, dict) and isinstance(reading, FailedRequest):
        id_fields = vars(reading.external_id) if reading.external_id else {}
        with suppress(RecursionError):
            return _invalid_to_json({"request_id": str(reading.request_id), **id_fields, **item})
    return _to_json(reading)


def _to_json(reading: Reading) -> bytes:
    return orjson.dumps(encode_record(reading), option=orjson.OPT_UTC_Z)


def _invalid_to_json(record: dict[str, Any]) -> bytes:
    """Return an invalid record as JSON that `parsing.read_json` reads as the same record.

    The module json is used, because orjson rejects lone surrogates and large integers, and writes NaN as null.
    """
    try:
        return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(record, separators=(",", ":")).encode()
