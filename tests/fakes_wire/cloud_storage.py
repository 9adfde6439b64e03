"""A fake of Cloud Storage's JSON API for google-cloud-storage: ranges, generations, resumable uploads, notifications.

https://cloud.google.com/storage/docs/json_api/v1, /docs/performing-resumable-uploads, /docs/pubsub-notifications. The
client's source and requests show how it behaves: a requested range ends one byte too late, its last read is behind the
end of the object and gets 416, and it uploads objects of every size by the resumable protocol.
"""

import base64
import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import google_crc32c
import pytest

from tests.fakes_wire.http import JsonServer, Reply

Notify = Callable[[bytes, dict[str, str]], None]


@dataclass
class Blob:
    """One generation of an object."""

    data: bytes
    generation: int
    encoding: str = ""


class CloudStorage(JsonServer):
    """Buckets on loopback.

    `notify` is called twice for each finished object, because Cloud Storage may deliver a notification more than once.
    """

    def __init__(self, notify: Notify = lambda data, attributes: None) -> None:
        super().__init__()
        self.objects: dict[tuple[str, str], Blob] = {}
        self.requests: list[str] = []
        self.fault: Callable[[str], str] = lambda request: ""
        """Called for each request, and returns the fault of its answer: "" for none, "503", or "drop" to end the
        connection halfway."""
        self._notify = notify
        self._generations = itertools.count(1767225600000000)
        self._uploads: dict[str, tuple[str, str, bytearray, dict[str, str]]] = {}

    def put(self, bucket: str, name: str, data: bytes, *, encoding: str = "") -> Blob:
        """Store a finished object and send its notifications."""
        before = self.objects.get((bucket, name))
        blob = self.objects[bucket, name] = Blob(data, next(self._generations), encoding)
        attributes = {
            "notificationConfig": f"projects/_/buckets/{bucket}/notificationConfigs/1",
            "eventType": "OBJECT_FINALIZE",
            "payloadFormat": "JSON_API_V1",
            "bucketId": bucket,
            "objectId": name,
            "objectGeneration": str(blob.generation),
            "eventTime": "2026-11-22T01:30:15.01Z",
        }
        if before:
            attributes["overwroteGeneration"] = str(before.generation)
        for _ in range(2):
            self._notify(json.dumps(self.resource(bucket, name)).encode(), attributes)
        return blob

    def resource(self, bucket: str, name: str) -> dict[str, Any]:
        """https://cloud.google.com/storage/docs/json_api/v1/objects#resource; numbers of 64 bits are strings."""
        blob = self.objects[bucket, name]
        return {
            "kind": "storage#object",
            "name": name,
            "bucket": bucket,
            "generation": str(blob.generation),
            "metageneration": "1",
            "size": str(len(blob.data)),
            "crc32c": _crc(blob.data),
            "timeCreated": "2026-11-20T10:00:00.000Z",
            "updated": "2026-11-20T10:00:00.000Z",
            **({"contentEncoding": blob.encoding} if blob.encoding else {}),
        }

    def exchange(self, method: str, path: str, body: Any, headers: Mapping[str, str]) -> tuple[int, Any]:
        request = f"{method} {path}"
        status, answer = self._answer(method, path, body, headers)
        self.requests.append(request)
        fault = self.fault(request)
        if fault == "503":
            return 503, Reply()
        return status, replace(answer, cut=True) if fault == "drop" else answer

    def answer(self, path: str, body: Any, headers: Mapping[str, str]) -> tuple[int, Any]:
        raise NotImplementedError("answers by method: see exchange")

    def _answer(self, method: str, path: str, body: Any, headers: Mapping[str, str]) -> tuple[int, Any]:
        split = urlsplit(path)
        query = {name: values[0] for name, values in parse_qs(split.query).items()}
        if method == "POST":
            return self._begin(unquote(split.path.split("/b/")[1].split("/")[0]), body["name"], query)
        if method == "PUT":
            return self._append(query["upload_id"], body or b"", last=not headers["content-range"].endswith("/*"))
        if method == "DELETE":
            return 499, Reply()
        matched = re.fullmatch(r"(/download)?/storage/v1/b/([^/]+)/o/([^/]+)", split.path)
        if not matched:
            return 200, {"kind": "storage#bucket", "name": split.path.rpartition("/")[2]}
        bucket, name = unquote(matched[2]), unquote(matched[3])
        blob = self.objects.get((bucket, name))  # the bucket keeps no earlier generations
        if blob is None or query.get("generation", str(blob.generation)) != str(blob.generation):
            return _error(404, "notFound")
        return _media(blob, headers) if query.get("alt") == "media" else (200, self.resource(bucket, name))

    def _begin(self, bucket: str, name: str, query: dict[str, str]) -> tuple[int, Any]:
        """Start a resumable upload."""
        if self._exists(bucket, name, query):
            return _error(412, "conditionNotMet")
        upload = f"upload-{len(self._uploads)}"
        self._uploads[upload] = (bucket, name, bytearray(), query)
        where = f"{self.url}/upload/storage/v1/b/{bucket}/o?uploadType=resumable&upload_id={upload}"
        return 200, Reply(headers={"Location": where})

    def _append(self, upload: str, data: bytes, *, last: bool) -> tuple[int, Any]:
        """Store a chunk of an upload, and finish the object after the last chunk."""
        bucket, name, arrived, query = self._uploads[upload]
        arrived += data
        if not last:
            return 308, Reply(headers={"Range": f"bytes=0-{len(arrived) - 1}"})
        if self._exists(bucket, name, query):
            return _error(412, "conditionNotMet")
        self.put(bucket, name, bytes(arrived))
        return 200, self.resource(bucket, name)

    def _exists(self, bucket: str, name: str, query: dict[str, str]) -> bool:
        """Whether the object exists, although the request has the precondition that it does not exist."""
        return query.get("ifGenerationMatch") == "0" and (bucket, name) in self.objects


@contextmanager
def emulated_storage() -> Iterator[CloudStorage]:
    """Serve buckets to the Cloud Storage clients of this process."""
    with CloudStorage().serving() as storage, pytest.MonkeyPatch.context() as patch:
        patch.setenv("STORAGE_EMULATOR_HOST", storage.url)
        patch.setenv("DISABLE_GCS_PYTHON_CLIENT_OTEL_BUCKET_METADATA", "true")
        yield storage


def _crc(data: bytes) -> str:
    return base64.b64encode(google_crc32c.Checksum(data).digest()).decode()


def _error(status: int, reason: str) -> tuple[int, Any]:
    return status, {"error": {"code": status, "message": reason, "errors": [{"reason": reason, "message": reason}]}}


def _media(blob: Blob, headers: Mapping[str, str]) -> tuple[int, Reply]:
    """Return the content of an object, or the range that the request asks for."""
    size, sent = len(blob.data), {"X-Goog-Generation": str(blob.generation), "X-Goog-Hash": f"crc32c={_crc(blob.data)}"}
    if blob.encoding:
        sent["Content-Encoding"] = blob.encoding
    match = re.fullmatch(r"bytes=(\d+)-(\d*)", headers.get("range", ""))
    if not match:
        return 200, Reply(blob.data, sent)
    start, end = int(match[1]), min(int(match[2] or size), size - 1)
    if start >= size:
        return 416, Reply(headers={"Content-Range": f"bytes */{size}"})
    return 206, Reply(blob.data[start : end + 1], sent | {"Content-Range": f"bytes {start}-{end}/{size}"})
