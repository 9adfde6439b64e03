"""The files that `mnemosyne import --restore` reads."""

import gzip
from pathlib import Path

import pytest

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
