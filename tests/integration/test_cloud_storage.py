"""google-cloud-storage and difficult responses of the JSON API: objects are read and written completely."""

import gzip
import random
from collections.abc import Iterator

import pytest

from mnemosyne.adapters import cloud_storage
from mnemosyne.adapters.cloud_storage import CloudStorage
from mnemosyne.domain.object_import import StoredObject
from mnemosyne.errors import NotFound, Unavailable
from tests.fakes_wire.cloud_storage import CloudStorage as Storage
from tests.fakes_wire.cloud_storage import emulated_storage

DATA = random.Random(1).randbytes(1_000_000)


@pytest.fixture
def storage(monkeypatch: pytest.MonkeyPatch) -> Iterator[Storage]:
    monkeypatch.setattr(cloud_storage, "READ_BYTES", 256 * 1024)
    monkeypatch.setattr(cloud_storage, "WRITE_BYTES", 256 * 1024)
    with emulated_storage() as serving:
        yield serving


def _put(storage: Storage, data: bytes, encoding: str = "") -> StoredObject:
    name = "a b/é#1.jsonl"
    blob = storage.put("bucket", name, data, encoding=encoding)
    return StoredObject(bucket="bucket", name=name, generation=blob.generation)


def _read(stored_object: StoredObject) -> bytes:
    with CloudStorage().open(stored_object) as opened:
        return opened.stream.read()


@pytest.mark.parametrize("data", [b"", b"x", DATA[: 256 * 1024], DATA], ids=["empty", "small", "a chunk", "large"])
def test_an_object_is_read_whole_and_in_ranges(storage: Storage, data: bytes) -> None:
    stored_object = _put(storage, data)
    with CloudStorage().open(stored_object) as opened:
        assert opened.size == len(data)
        assert opened.modified and opened.modified.year == 2026
    assert _read(stored_object) == data


def test_an_object_is_read_completely_although_the_connection_is_cut(storage: Storage) -> None:
    stored_object = _put(storage, DATA)
    reads = iter(range(1000))
    storage.fault = lambda request: "drop" if "alt=media" in request and next(reads) % 3 == 0 else ""
    assert _read(stored_object) == DATA


@pytest.mark.parametrize("encoding", ["gzip", ""])
def test_a_compressed_object_is_read_as_it_is_stored(storage: Storage, encoding: str) -> None:
    packed = gzip.compress(DATA)
    stored_object = _put(storage, packed, encoding=encoding)
    with CloudStorage().open(stored_object) as opened:
        assert opened.packed
        assert gzip.GzipFile(fileobj=opened.stream).read() == DATA


def test_an_overwritten_generation_of_an_object_is_reported_as_not_found(storage: Storage) -> None:
    stored_object = _put(storage, DATA)
    _put(storage, b"newer")
    with pytest.raises(NotFound, match="another object was written over it"):
        _read(stored_object)


def test_an_object_overwritten_while_it_is_read_is_not_mixed_with_the_new_one(storage: Storage) -> None:
    stored_object = _put(storage, DATA)
    with CloudStorage().open(stored_object) as opened:
        assert opened.stream.read(1000) == DATA[:1000]
        _put(storage, DATA[::-1])
        with pytest.raises(NotFound):
            opened.stream.read()


def test_a_report_is_written_next_to_the_object_once(storage: Storage) -> None:
    stored_object = _put(storage, b"x")
    lines = [b"line %d\n" % number for number in range(100_000)]
    assert CloudStorage().write_report(stored_object, lines) is True
    assert CloudStorage().write_report(stored_object, [b"another"]) is False
    assert storage.objects["bucket", stored_object.report].data == b"".join(lines)


def test_one_of_two_concurrent_reports_is_written(storage: Storage) -> None:
    stored_object = _put(storage, b"x")

    def lines() -> Iterator[bytes]:
        yield b"mine"
        storage.put("bucket", stored_object.report, b"theirs")

    assert CloudStorage().write_report(stored_object, lines()) is False
    assert storage.objects["bucket", stored_object.report].data == b"theirs"


def test_a_report_that_fails_during_the_upload_leaves_no_object(storage: Storage) -> None:
    stored_object = _put(storage, b"x")

    def lines() -> Iterator[bytes]:
        yield b"y" * 300_000
        raise Unavailable("the database is not responding")

    with pytest.raises(Unavailable):
        CloudStorage().write_report(stored_object, lines())
    assert ("bucket", stored_object.report) not in storage.objects
