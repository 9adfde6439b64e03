"""The version of PostgreSQL that created a cluster: another version or a damaged file is an error with advice."""

from pathlib import Path

import pytest

from mnemosyne.cli.local import postgres
from mnemosyne.cli.local.data_dir import DataDir
from mnemosyne.errors import Misconfigured


@pytest.mark.parametrize("written", [b"", b"\x00\x00\x00", b"\xff16", b"15\n"])
def test_a_cluster_of_another_or_unknown_version_is_an_error_with_advice(tmp_path: Path, written: bytes) -> None:
    directory = DataDir(tmp_path)
    directory.postgres.mkdir()
    (directory.postgres / "PG_VERSION").write_bytes(written)
    with pytest.raises(Misconfigured, match=r"PG_VERSION must contain 16.* restore the directory from a backup"):
        postgres.start(directory)


@pytest.mark.parametrize("written", [None, b"16\n"])
def test_a_new_directory_and_a_cluster_of_this_version_are_accepted(tmp_path: Path, written: bytes | None) -> None:
    directory = DataDir(tmp_path)
    directory.postgres.mkdir()
    if written:
        (directory.postgres / "PG_VERSION").write_bytes(written)
    directory.check_version(postgres.VERSION)
