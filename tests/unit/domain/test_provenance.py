"""Provenance of requests (client, file and lines), in the attributes of a message."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemosyne.domain.provenance import (
    ATTRIBUTE_BYTES,
    CLIENT,
    IMPORT_LINES,
    IMPORT_NAME,
    Provenance,
    Publisher,
    read_provenance,
)
from mnemosyne.domain.pubsub_message import check_attributes


@given(
    client=st.text(max_size=300),
    name=st.text(min_size=1, max_size=1_000),
    lines=st.lists(st.integers(1, 2**31 - 1), min_size=1, max_size=100),
)
def test_provenance_attributes_fit_the_limits_of_pub_sub(client: str, name: str, lines: list[int]) -> None:
    attributes = Publisher(client=client, import_name=name, lines=lines).attributes
    check_attributes(attributes)
    assert len(read_provenance(attributes, len(lines))) == len(lines)


def test_a_hundred_lines_fit_into_an_attribute_and_each_record_keeps_its_line() -> None:
    lines = list(range(1_000_000, 1_000_000 + 7 * 100, 7))
    attributes = Publisher(import_name="notes.jsonl", lines=lines).attributes
    assert len(attributes[IMPORT_LINES]) <= ATTRIBUTE_BYTES
    expected = [Provenance(import_name="notes.jsonl", import_line=line) for line in lines]
    assert read_provenance(attributes, 100) == expected


@pytest.mark.parametrize("lines", ["", "x", "1", "1,2", "-5,1,1", "1,1,99999999999"])
def test_unreadable_line_numbers_are_ignored(lines: str) -> None:
    attributes = {CLIENT: "laptop", IMPORT_NAME: "notes.jsonl", IMPORT_LINES: lines}
    assert read_provenance(attributes, 3) == [Provenance(client="laptop", import_name="notes.jsonl")] * 3


def test_a_message_without_provenance_attributes_is_accepted() -> None:
    assert read_provenance({"namespace": "ns"}, 2) == [None, None]
