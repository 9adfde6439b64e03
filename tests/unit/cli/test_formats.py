"""Formats of imported files: how each is read, and that an exported file is imported unchanged."""

import gzip
import io
import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemosyne.cli.formats import read
from mnemosyne.cli.import_source import Record
from mnemosyne.cli.listing import format_by_name
from mnemosyne.domain.chronicle import unite_tags
from mnemosyne.domain.memory import ExportedMemory, FailedRequest, IngestRequest, content_hash
from mnemosyne.domain.memory_input import Defaults
from mnemosyne.domain.metadata import METADATA_BYTES
from mnemosyne.domain.rfc3339 import rfc3339
from mnemosyne.domain.visible import one_line
from mnemosyne.errors import InvalidRequest
from mnemosyne.formats import reading
from mnemosyne.formats.item import FAILURE, Item, read_item
from mnemosyne.formats.writing import to_jsonl, to_markdown, to_record
from mnemosyne.ids import new_id

CHRONICLE = "[[[CHRONICLE_START]]]\nTS: 2026-05-20\nTITLE: Example\nTAGS: a, b\nBODY: …\n[[[CHRONICLE_END]]]"

MEMORY = '{"content": "c", "timestamp": "2026-05-20"}\n'


def _read(path: Path, data: str | bytes) -> list[Item]:
    """Write a file, and read it in the format that its name indicates."""
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return list(read(path, format_by_name(path)))


def _exported(content: str, **fields: Any) -> ExportedMemory:
    values: dict[str, Any] = {
        "id": new_id(),
        "timestamp": datetime(2026, 5, 20, 12, 0, 0, 123456, tzinfo=UTC),
        "content": content,
        "title": "T",
        "tags": ("a",),
        "metadata": {"k": [1, None]},
        "content_hash": content_hash(content),
        "superseded_by_hash": None,
        "created_at": datetime(2026, 5, 21, tzinfo=UTC),
        **fields,
    }
    return ExportedMemory(**values)


def _request(item: Item) -> IngestRequest:
    reading = read_item(item, Defaults(new_id=new_id))
    assert isinstance(reading, IngestRequest), reading
    return reading


def _failure(item: Item) -> FailedRequest:
    reading = read_item(item, Defaults(new_id=new_id))
    assert isinstance(reading, FailedRequest)
    return reading


def _reimported(item: Item) -> ExportedMemory:
    request = _request(item)
    return _exported(
        request.content,
        timestamp=request.timestamp,
        title=request.title,
        tags=request.tags,
        metadata=request.metadata,
        superseded_by_hash=item.superseded_by_hash,
    )


STORABLE = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")
CONTENTS = st.text(STORABLE, min_size=1, max_size=200).filter(str.strip)
SEEN = st.characters(exclude_categories=["Cs", "Cc", "Cf", "Zl", "Zp"])
NAMES = st.text(SEEN, min_size=1, max_size=30).map(one_line).filter(str.strip)
MEMORIES = st.builds(
    lambda content, title, tags, metadata, when, successor: _exported(
        content,
        title=title,
        tags=unite_tags(tags),
        metadata=metadata,
        timestamp=when,
        superseded_by_hash=successor and content_hash(successor),
    ),
    CONTENTS,
    NAMES,
    st.lists(NAMES, max_size=3),
    st.dictionaries(NAMES, st.none() | st.booleans() | st.integers(-(2**53), 2**53) | NAMES, max_size=3),
    st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
    st.none() | CONTENTS,
)


@given(MEMORIES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
@pytest.mark.parametrize("format_", ["jsonl", "markdown"])
def test_export_and_import_change_only_ids_and_server_times(
    tmp_path: Path, format_: str, memory: ExportedMemory
) -> None:
    if memory.content.count("TAGS:"):
        return  # not tested: an import adds the tags in the text to the given ones, so the second export would differ

    def write(memory: ExportedMemory) -> str:
        return to_jsonl(to_record(memory)) if format_ == "jsonl" else to_markdown(to_record(memory))[1]

    (item,) = _read(tmp_path / ("one.jsonl" if format_ == "jsonl" else "one.md"), write(memory))
    again = replace(_reimported(item), id=memory.id)
    assert again == memory
    assert write(again) == write(memory)


def test_a_chronicle_becomes_a_memory_with_its_text_unchanged_and_its_time(tmp_path: Path) -> None:
    _, second = _read(tmp_path / "x.txt", f"junk\n{CHRONICLE}\nmore junk\n{CHRONICLE}")
    assert second.fields == {"content": CHRONICLE, "timestamp": "2026-05-20"}
    assert second.source == f"{tmp_path / 'x.txt'}:9"


@pytest.mark.parametrize(
    ("chronicle", "error"),
    [
        ("[[[CHRONICLE_START]]]\nTS: 2026-05-20\ncut off", "the chronicle has no [[[CHRONICLE_END]]]"),
        (CHRONICLE.replace("TS: 2026-05-20", "x"), "the chronicle has no TS: line"),
        (CHRONICLE.replace("Example", "\udcff"), "content must be valid Unicode"),
    ],
    ids=["no end", "no time", "a byte that is not UTF-8"],
)
def test_a_wrong_chronicle_does_not_fail_the_others(tmp_path: Path, chronicle: str, error: str) -> None:
    bad, good = _read(tmp_path / "x.txt", f"{chronicle}\n{CHRONICLE}".encode(errors="surrogateescape"))
    assert (bad.problem or _failure(bad).error).startswith(error)
    assert _request(good).content == CHRONICLE


FRAGMENT = "; write each memory on one line, without brackets or commas around it"


@pytest.mark.parametrize(
    ("line", "has_fix"),
    [
        ("[", True),
        ('{"content": "tea"},', True),
        ("{", True),
        ('  "content": "tea",', True),
        ('[{"content": "tea"}, {"content": "tea"}]', True),
        ("tea", False),
        ('{"content": "tea"', False),
        ("7", False),
    ],
)
def test_the_error_about_a_part_of_json_says_how_to_write_lines(tmp_path: Path, line: str, has_fix: bool) -> None:
    (item,) = _read(tmp_path / "n.jsonl", f"{line}\r\n")
    assert item.problem.endswith(FRAGMENT) == has_fix


@pytest.mark.parametrize("metadata", [{"x": 1}, '{"x": 1}'], ids=["an object", "a text"])
def test_an_mcp_memory_service_export_keeps_tags_type_and_time(tmp_path: Path, metadata: object) -> None:
    record = {"content": "c", "tags": "a, b", "created_at": 1716200000.5, "memory_type": "note", "metadata": metadata}
    good, bad = _read(tmp_path / "x.json", json.dumps({"memories": [record, "nonsense"]}))
    request = _request(good)
    assert (request.content, rfc3339(request.timestamp)) == ("c", "2024-05-20T10:13:20.500000Z")
    assert (request.tags, request.metadata) == (("a", "b"), {"x": 1, "memory_type": "note"})
    assert bad.problem == 'a memory must be a JSON object, got "nonsense"'


@pytest.mark.parametrize(
    "times",
    [
        {"created_at": 1716200000.5, "created_at_iso": "2024-05-20T10:13:20.500000Z"},
        {"created_at": 1716200000.5, "created_at_iso": "2024-05-20T12:13:20.500000"},
        {"created_at": None, "created_at_iso": "2024-05-20T12:13:20.500000+02:00"},
        {"timestamp": 1716200000.5, "created_at": 1716200000.5, "created_at_iso": "2024-05-20T12:13:20.500000"},
    ],
)
def test_an_mcp_memory_service_export_is_read_with_its_exact_time(tmp_path: Path, times: dict[str, Any]) -> None:
    (item,) = _read(tmp_path / "x.json", json.dumps({"memories": [{"content": "c", **times}]}))
    assert rfc3339(_request(item).timestamp) == "2024-05-20T10:13:20.500000Z"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("name", ["x.json", "X.JSON.GZ"])
def test_an_mcp_memory_service_export_is_read_in_each_encoding(tmp_path: Path, name: str, encoding: str) -> None:
    content = "Grüße aus 東京"
    memory = {"content": content, "created_at": 1_770_000_000}
    documents: list[Any] = [({"memories": [memory]}, [content]), ([memory], [content]), ({"memories": []}, [])]
    for document, contents in documents:
        text = json.dumps(document, ensure_ascii=False, indent=1).replace("\n", "\r\n").encode(encoding)
        items = _read(tmp_path / name, gzip.compress(text) if name.endswith("GZ") else text)
        assert [_request(item).content for item in items] == contents


def test_a_damaged_gzip_file_of_mcp_memory_service_is_an_error_about_gzip(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="must be a complete gzip file"):
        _read(tmp_path / "x.json.gz", gzip.compress(b'[{"content": "c", "created_at": 1770000000}]')[:-9])


def test_line_endings_are_kept(tmp_path: Path) -> None:
    (item,) = _read(tmp_path / "a.md", b"---\r\ndate: 2026-05-20\r\n---\r\none\r\ntwo\rthree\n")
    assert item.fields and item.fields["content"] == "one\r\ntwo\rthree\n"


def test_dates_in_front_matter_are_kept_as_they_are_written(tmp_path: Path) -> None:
    front = "timestamp: 2026-05-20\nmetadata:\n  due: 2026-06-01\n  7: [2026-06-02]"
    (item,) = _read(tmp_path / "n.md", f"---\n{front}\n---\nx")
    assert item.fields and item.fields["metadata"] == {"due": "2026-06-01", "7": ["2026-06-02"], "path": "n.md"}


@pytest.mark.parametrize(
    "entry",
    [{"metadata": "text"}, {"created_at": 1e20}, {"created_at": -1e20}, {"created_at": 1e308}, {"tags": {"a": 1}}],
)
def test_one_bad_entry_does_not_fail_its_neighbours(tmp_path: Path, entry: dict[str, Any]) -> None:
    good = {"content": "good", "created_at": 1_770_000_000}
    bad, last = _read(tmp_path / "e.json", json.dumps({"memories": [{**good, **entry}, good]}))
    assert _failure(bad).error
    assert bad.fields and bad.fields["content"] == "good", "the file of failures has the record"
    assert _reimported(last).content == "good"


@pytest.mark.parametrize(
    ("entry", "kept"),
    [
        ({"memory": "Ada rows.", "created_at": "2026-05-20"}, {"memory": "Ada rows.", "timestamp": "2026-05-20"}),
        ({"text": "Ada rows.", "ts": "1779287400.0002"}, {"text": "Ada rows.", "ts": "1779287400.0002"}),
        (["Ada", "rows."], {"text": '["Ada", "rows."]'}),
        ("Ada rows.", {"text": '"Ada rows."'}),
    ],
)
def test_a_failed_entry_of_a_json_array_keeps_its_text(tmp_path: Path, entry: object, kept: dict[str, Any]) -> None:
    (bad,) = _read(tmp_path / "e.json", json.dumps([entry]))
    assert json.loads(Record(bad, _failure(bad)).line).items() >= kept.items()


@pytest.mark.parametrize("text", ['{"content": "x"}', '{"memories": {"content": "x"}}', '"x"', "1"])
def test_json_without_an_array_of_memories_is_refused_with_the_fix(tmp_path: Path, text: str) -> None:
    (bad,) = _read(tmp_path / "one.json", text)
    assert bad.problem.endswith("write [ and ] around a single memory")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b'[{"content": "caf\xe9"}]', "lexical error: invalid bytes in UTF8 string, near .*caf"),
        (b'{"content": "a"}{"content": "b"}', "parse error: trailing garbage, near "),
        (b'// from a script\n[{"content": "a"}]', "lexical error: probable comment"),
        (b'[{"content": "a", "timestamp": "2026-05-20"},]', "parse error: "),
        (b'[{"content": "a"', "parse error: premature EOF"),
    ],
)
def test_an_error_in_json_is_shown_as_text_with_the_fix(tmp_path: Path, data: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=rf"^it is not valid JSON in UTF-8 \({problem}.*\): write .* a \.jsonl file$"):
        _read(tmp_path / "a.json", data)


def test_the_tags_of_an_exported_memory_are_not_completed_from_its_text(tmp_path: Path) -> None:
    exported = to_jsonl(to_record(_exported("TAGS: a, b", tags=("c",))))
    items = _read(tmp_path / "n.jsonl", exported + '{"content": "x", "tags": ["c"]}\n')
    assert [item.exact_tags for item in items] == [("c",), None]


@pytest.mark.parametrize(
    "metadata",
    [
        {"nested": {str(n): {"a": {"b": n}} for n in range(2_300)}},
        {"text": "я" * 31_000 + "\u2028"},
        {"text": "\x85" * 30_000},
        {"k" * 30_000: "v", "lines": "one: two\n" * 3_000},
        {"texts": ["- #tag", "true", "1.5", "#", ""] * 100},
    ],
    ids=lambda metadata: f"{next(iter(metadata))[:10]} {len(json.dumps(metadata))}",
)
def test_the_largest_metadata_are_kept_in_a_markdown_file(tmp_path: Path, metadata: dict[str, Any]) -> None:
    assert len(json.dumps(metadata, ensure_ascii=False).encode()) <= METADATA_BYTES
    again = _as_markdown(tmp_path, _exported("---\nx", metadata=metadata, tags=("#a", "b")))
    assert (again.metadata, again.content) == (metadata, "---\nx")


def _as_markdown(folder: Path, memory: ExportedMemory) -> ExportedMemory:
    """Export a memory to a Markdown file, and import the file."""
    (item,) = _read(folder / "x.md", to_markdown(to_record(memory))[1])
    return _reimported(item)


PIECES = [
    "\n", "\n\n", "- #tag", "  - #tag", "tags: #tag", "keywords:  #tag", "- x", "---", "...", "'", '"', ":",
    "word " * 20,
]  # fmt: skip
TEXT_OF_PIECES = st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map("".join)


@given(
    metadata=st.dictionaries(TEXT_OF_PIECES, TEXT_OF_PIECES | st.lists(TEXT_OF_PIECES), max_size=2),
    title=TEXT_OF_PIECES,
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_hash_tags_in_texts_of_several_lines_are_kept(tmp_path: Path, metadata: dict[str, Any], title: str) -> None:
    memory = _exported("x", metadata=metadata, title=one_line(title).strip() or "T")
    again = _as_markdown(tmp_path, memory)
    assert (again.metadata, again.title) == (memory.metadata, memory.title)


def test_one_bad_file_does_not_fail_its_directory(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"---\ntitle: \xff\x00\n---\nbad")
    (tmp_path / "b.md").write_text("---\ntimestamp: 2026-05-20\n---\ngood")
    bad, good = read(tmp_path)
    assert _failure(bad).error and bad.source.endswith("a.md")
    assert good.fields and good.fields["content"] == "good"


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (b'{"content": "\xff"}', "found the lone surrogate U.DCFF .* 0xff of a text that is not UTF-8"),
        (b"[" * 100_000, "nested"),
        (b'{"content": "a", "superseded_by_hash": ["b"]}', "superseded_by_hash"),
        (b"x" * 5_000_000, "a line must have at most 2,000,000 bytes"),
    ],
    ids=["not UTF-8", "nested", "an array as a hash", "too long"],
)
def test_one_wrong_line_is_one_failure(tmp_path: Path, line: bytes, error: str) -> None:
    bad, good = _read(tmp_path / "x.jsonl", line + b"\n" + MEMORY.encode())
    assert re.search(error, bad.problem or _failure(bad).error)
    assert (bad.line, good.line, _request(good).content) == (1, 2, "c")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be", "utf-32"])
def test_a_line_with_a_lone_surrogate_is_one_failure_in_each_encoding(tmp_path: Path, encoding: str) -> None:
    lines = '{"content": "a\ud83d"}\n' + MEMORY
    bad, good = _read(tmp_path / "x.jsonl", lines.encode(encoding, "surrogatepass"))
    assert "lone surrogate" in _failure(bad).error
    assert (bad.line, good.line, _request(good).content) == (1, 2, "c")


def test_a_note_of_another_program_with_a_content_hash_is_read_as_a_note(tmp_path: Path) -> None:
    (item,) = _read(tmp_path / "a.md", f"---\ntitle: A\nmood: good\ncontent_hash: {'a' * 64}\n---\nText.")
    request = _request(item)
    assert (request.title, request.content) == ("A", "Text.")
    assert request.metadata == {"mood": "good", "content_hash": "a" * 64, "path": "a.md"}


def _after(name: str, data: str, skip: int) -> list[Item]:
    """Read the entries of a file after those that an earlier run has read."""
    return list(reading.read(io.BytesIO(data.encode()), name, str(format_by_name(Path(name))), skip=skip))


@pytest.mark.parametrize("skip", [0, 1])
def test_a_failure_of_a_stored_memory_has_no_record_to_import_again(skip: int) -> None:
    failure = {FAILURE: {"place": "f:1", "error": "stored, but its successor is not in these files"}}
    records = [{"content": text, "timestamp": "2026-05-20", **failure} for text in ("a", "b")]
    lines = map(json.dumps, [failure, records[0], failure, records[1]])
    items = _after("f.failures.jsonl", "\n".join(lines), skip)
    assert [_request(item).content for item in items] == ["a", "b"][skip:]


OUTCOME = '{"mnemosyne_export": {"request": {}}}\n'


@pytest.mark.parametrize(
    ("name", "text"), [("x.jsonl", f"{MEMORY}\n{OUTCOME}{'x' * 3_000_000}\n"), ("x.txt", CHRONICLE * 2 + "\n")]
)
def test_entries_that_an_earlier_run_has_read_are_skipped(name: str, text: str) -> None:
    assert _after(name, text * 4, skip=3) == _after(name, text * 4, skip=0)[3:] != []


def test_a_note_without_a_time_has_its_file_s_modification_time(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("---\ntags: home\n---\nBuy seeds.")
    os.utime(tmp_path / "a.md", (1_770_000_000, 1_770_000_000))
    (item,) = read(tmp_path)
    assert rfc3339(_request(item).timestamp) == "2026-02-02T02:40:00Z"


@pytest.mark.parametrize("time", [1_785_000_000_000, 253_402_300_800, 2**63 - 1, -99_999_999_999])
def test_an_invalid_modification_time_fails_only_a_note_without_a_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, time: int
) -> None:
    """Some programs write milliseconds instead of seconds. Not every file system can store such a time."""
    read_status = Path.stat

    def stat(path: Path, **options: Any) -> os.stat_result:
        status = read_status(path, **options)
        return os.stat_result((*status[:8], time, status[9]))

    monkeypatch.setattr(Path, "stat", stat)
    (tmp_path / "2026-05-20 tea.md").write_text("Tea.")
    (tmp_path / "list.jsonl").write_text(MEMORY)
    (tmp_path / "tea.md").write_text("Tea.")
    dated, record, undated = read(tmp_path)
    assert (dated.problem, record.problem) == ("", "")
    assert "a note must have a time: add the property timestamp" in undated.problem


def _in_every_format(folder: Path, time: str | int) -> Iterator[Item]:
    """Write a memory with this time into a file of each format, and read it."""
    yield from _read(folder / "x.jsonl", json.dumps({"content": "c", "timestamp": time}))
    yield from _read(folder / "x.md", f"---\ndate: {json.dumps(time)}\n---\nc")
    yield from _read(folder / "x.json", json.dumps([{"content": "c", "created_at": time}]))
    if isinstance(time, str):  # a chronicle has no numbers
        yield from _read(folder / "x.txt", CHRONICLE.replace("2026-05-20", time))


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        ("2026-05-20T14:30:00+02:00", "2026-05-20T12:30:00Z"),
        ("2026-05-20T14:30:00", "2026-05-20T14:30:00Z"),
        ("2026-05-20", "2026-05-20T00:00:00Z"),
        ("2026-05-20 14:30:00.5 UTC", "2026-05-20T14:30:00.500000Z"),
        (20260520, "2026-05-20T00:00:00Z"),
    ],
)
def test_a_time_without_an_offset_is_utc_in_every_format(tmp_path: Path, written: str | int, read_as: str) -> None:
    assert {rfc3339(_request(item).timestamp) for item in _in_every_format(tmp_path, written)} == {read_as}


def test_a_number_that_is_not_a_date_is_refused_in_every_format(tmp_path: Path) -> None:
    errors = [_failure(item).error for item in _in_every_format(tmp_path, 2026)]
    assert ["got 2026" in error for error in errors] == [True] * 3


@pytest.mark.parametrize(
    ("name", "text", "left_out"),
    [
        ("x.jsonl", '{"content": "c", "timestamp": "2026-05-20", "importance": 7, "tag": "x"}', ("importance", "tag")),
        ("x.jsonl", '{"content": "c", "timestamp": "2026-05-20", "\\ud800": 1, "a\\u0000": 2}', ("?", "a?")),
        ("x.md", "---\ndate: 2026-05-20\nmood: fine\n---\nc", ()),
        ("x.json", '[{"content": "c", "created_at": 1, "embedding": [1]}]', ("embedding",)),
    ],
    ids=["JSON lines", "names that cannot be stored", "Markdown, whose properties are metadata", "a JSON array"],
)
def test_fields_that_a_memory_does_not_have_are_listed_as_left_out(
    tmp_path: Path, name: str, text: str, left_out: tuple[str, ...]
) -> None:
    assert [item.left_out for item in _read(tmp_path / name, text)] == [left_out]


def test_a_truncated_gzip_file_is_an_error_after_its_readable_memories(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.gz"
    lines = b"".join(b'{"content": "%d", "timestamp": "2026-05-20"}\n' % n for n in range(5_000))
    path.write_bytes(gzip.compress(lines)[:-1000])
    items = read(path)
    assert next(items).fields == {"content": "0", "timestamp": "2026-05-20"}
    with pytest.raises(InvalidRequest, match="must be a complete gzip file"):
        list(items)


@pytest.mark.parametrize("name", ["x.md", "x.txt", "x.TEXT", "x.txt.gz"])
def test_a_note_of_more_than_2_000_000_bytes_is_one_failure(tmp_path: Path, name: str) -> None:
    text = b"a long book " * 170_000
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    for root in (tmp_path / name, tmp_path):
        (item,) = read(root)
        assert (item.problem, item.path) == ("a note must have at most 2,000,000 bytes", name.removesuffix(".gz"))


def test_a_large_export_of_mcp_memory_service_is_read_memory_by_memory(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("[" + '{"content": "more", "created_at": 1}, ' * 3_000 + "damaged")
    items = read(path, format_by_name(path))
    assert [next(items).line for _ in range(1000)] == list(range(1, 1001))
    with pytest.raises(ValueError, match="it is not valid JSON"):
        list(items)


@pytest.mark.exhaustive
def test_a_gzip_file_is_read_up_to_the_limit_of_unpacked_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemosyne.formats.reading.UNPACKED_BYTES", 1_000_000)
    with pytest.raises(InvalidRequest, match="must contain at most 1,000,000 bytes unpacked"):
        _read(tmp_path / "x.jsonl.gz", gzip.compress(b" " * 5_000_000))


@pytest.mark.parametrize("name", ["metadata", "ttl", "unknown"])
@pytest.mark.parametrize(("file", "form"), [("a.jsonl", b"%b\n%b\n"), ("a.json", b"[%b, %b]")])
def test_a_record_that_is_nested_deeply_is_one_failure(tmp_path: Path, file: str, form: bytes, name: str) -> None:
    deep = b'{"content": "a", "timestamp": "2026-05-20", "%b": %b}' % (name.encode(), b"[" * 990 + b"]" * 990)
    bad, good = _read(tmp_path / file, form % (deep, b'{"content": "b", "timestamp": "2026-05-20"}'))
    failure = _failure(bad)
    assert failure.error.endswith("must be JSON that is nested at most 100 levels deep")
    assert json.loads(Record(bad, failure).line).keys() <= {"text"}
    assert _request(good).content == "b"
