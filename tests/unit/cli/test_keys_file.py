"""The file of `mnemosyne outcomes --keys`."""

from pathlib import Path

import pytest

from mnemosyne.cli.outcomes import read_keys
from mnemosyne.errors import InvalidRequest

FILES = {
    "Unix": "1\nü 2\n".encode(),
    "Windows": "1\r\nü 2\r\n".encode(),
    "a byte order mark": "\ufeff1\nü 2".encode(),
    "PowerShell": "1\r\nü 2\r\n".encode("utf-16"),
    "empty lines": "\n1\n\nü 2\n\n".encode(),
}


@pytest.mark.parametrize("data", FILES.values(), ids=FILES.keys())
def test_each_line_with_text_is_a_key(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "keys").write_bytes(data)
    assert read_keys(tmp_path / "keys") == ["1", "ü 2"]


def test_keys_in_another_encoding_are_refused_with_the_fix(tmp_path: Path) -> None:
    (tmp_path / "keys").write_bytes("1\nü".encode("latin-1"))
    with pytest.raises(InvalidRequest, match=r"keys must be text in UTF-8, found the byte 0xfc at position 2: .*iconv"):
        read_keys(tmp_path / "keys")
