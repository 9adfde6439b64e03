"""Objects in Cloud Storage, with google-cloud-storage."""

import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from mnemosyne.adapters import service_error_tables, service_errors
from mnemosyne.domain.object_import import OpenObject, StoredObject
from mnemosyne.errors import InvalidRequest, NotFound
from mnemosyne.once import once

READ_BYTES = 4 * 1024 * 1024
WRITE_BYTES = 1024 * 1024
"""Size in bytes of the chunks in which a report is uploaded. Resumable uploads require a multiple of 256 KiB."""
_GZIP = b"\x1f\x8b"
_NEW = 0
"""Value of the precondition `if_generation_match` that allows an upload only if the object does not exist yet."""

ResultT = TypeVar("ResultT")


class CloudStorage:
    """Read access to objects in buckets, and write access for the reports of imports.

    If STORAGE_EMULATOR_HOST is set, the client library uses the emulator at this address.
    """

    @once
    def _client(self) -> Any:
        from google.cloud import storage  # imported only here: the import takes half a second, and is rarely needed

        return storage.Client()

    @contextmanager
    def open(self, stored_object: StoredObject) -> Iterator[OpenObject]:
        """Open an object to read its content and properties.

        Raises NotFound, Misconfigured or Unavailable. Reading the content raises the same errors.
        """
        blob = self._client.bucket(stored_object.bucket).blob(stored_object.name, generation=stored_object.generation)
        _call_storage(stored_object, blob.reload)
        # With raw_download, the library does not decompress the object. Otherwise the reader would lose its position in
        # the object, because the library cannot read ranges of decompressed content:
        # https://github.com/googleapis/python-storage/issues/607.
        reader = blob.open("rb", raw_download=True, chunk_size=READ_BYTES)
        with io.BufferedReader(_Reader(reader, stored_object), READ_BYTES) as stream:
            # Look at the first bytes of the content, because the name of an object does not always show that the object
            # is compressed: BigQuery compresses an export without adding `.gz` to the names.
            packed = blob.content_encoding == "gzip" or stream.peek(2).startswith(_GZIP)
            yield OpenObject(stream=stream, size=blob.size, packed=packed, modified=blob.time_created)

    def write_report(self, stored_object: StoredObject, lines: Iterable[bytes]) -> bool:
        """Write the report of an import next to the imported object. Return false if the report exists already.

        Raises Misconfigured or Unavailable.
        """
        blob = self._client.bucket(stored_object.bucket).blob(stored_object.report)
        if _call_storage(stored_object, blob.exists):
            return False

        def write() -> bool:
            from google.cloud.storage.exceptions import InvalidResponse

            # Open the object in binary mode. After an error, a writer in text mode would finish the upload, and the
            # object would have only the lines written so far.
            report = blob.open(
                "wb", chunk_size=WRITE_BYTES, content_type="application/x-ndjson", if_generation_match=_NEW
            )
            try:
                for line in lines:
                    report.write(line)
                report.close()
            except BaseException as exc:
                # Abandon the upload. Otherwise the garbage collector would close the writer, and the writer would retry
                # the upload for two minutes.
                report.terminate()
                if isinstance(exc, InvalidResponse) and exc.response.status_code == 412:
                    return False  # another delivery of the same notification wrote the report
                raise
            return True

        return _call_storage(stored_object, write)


class _Reader(io.RawIOBase):
    """Reads an object in a bucket. Converts exceptions of google-cloud-storage to exceptions of Mnemosyne."""

    def __init__(self, reader: Any, stored_object: StoredObject) -> None:
        super().__init__()
        self._reader = reader
        self._stored_object = stored_object

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data: bytes = _call_storage(self._stored_object, lambda: self._reader.read(len(buffer)))
        buffer[: len(data)] = data
        return len(data)


def _call_storage(stored_object: StoredObject, call: Callable[[], ResultT]) -> ResultT:
    """Run `call`, and convert exceptions of google-cloud-storage to exceptions of Mnemosyne."""
    import requests
    from google.api_core.exceptions import GoogleAPIError
    from google.auth.exceptions import GoogleAuthError
    from google.cloud.storage.exceptions import InvalidResponse

    try:
        return call()
    except (GoogleAPIError, GoogleAuthError, InvalidResponse, requests.RequestException, ConnectionError) as exc:
        error = service_errors.google_error(service_error_tables.BUCKET, exc, object=stored_object.source)
        raise (NotFound(str(error)) if isinstance(error, InvalidRequest) else error) from exc
