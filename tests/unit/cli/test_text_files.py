"""The files that `mnemosyne import --restore` and `mnemosyne outcomes --keys` read."""

import gzip
from pathlib import Path

import pytest

from mnemosyne.cli.outcomes import read_keys
from mnemosyne.cli.restore import _lines
from mnemosyne.errors import InvalidRequest

TEXT = '{"content": "grün"}\n{"content": "blau"}\n'
FILES = {
    "all.jsonl": TEXT.encode(),
    "windows.jsonl": TEXT.replace("\n", "\r\n").encode("utf-8-sig"),
    "powershell.jsonl": TEXT.encode("utf-16"),
    "all.jsonl.gz": gzip.compress(TEXT.encode()),
    "ALL.JSONL.GZ": gzip.compress(TEXT.encode("utf-16")),
}


@pytest.mark.parametrize(("name", "data"), FILES.items(), ids=FILES.keys())
def test_an_export_is_restored_from_any_encoding_that_an_import_reads(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    assert [fields["content"] for fields, _ in _lines([tmp_path / name])] == ["grün", "blau"]


def test_a_damaged_archive_of_an_export_is_refused(tmp_path: Path) -> None:
    (tmp_path / "all.jsonl.gz").write_bytes(gzip.compress(TEXT.encode())[:-9])
    with pytest.raises(InvalidRequest, match="must be a complete gzip file"):
        list(_lines([tmp_path / "all.jsonl.gz"]))


KEYS = {
    "Unix": "1\nü 2\n".encode(),
    "Windows": "1\r\nü 2\r\n".encode(),
    "a byte order mark": "\ufeff1\nü 2".encode(),
    "PowerShell": "1\r\nü 2\r\n".encode("utf-16"),
    "empty lines": "\n1\n\nü 2\n\n".encode(),
}


@pytest.mark.parametrize("data", KEYS.values(), ids=KEYS.keys())
def test_each_line_with_text_is_a_key(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "keys").write_bytes(data)
    assert read_keys(tmp_path / "keys") == ["1", "ü 2"]


def test_keys_in_another_encoding_are_refused_with_the_fix(tmp_path: Path) -> None:
    (tmp_path / "keys").write_bytes("1\nü".encode("latin-1"))
    with pytest.raises(InvalidRequest, match=r"keys must be text in UTF-8, found the byte 0xfc at position 2: .*iconv"):
        read_keys(tmp_path / "keys")
