"""A fake of Cloud Storage's JSON API for google-cloud-storage: ranges, generations, resumable uploads, notifications.

https://cloud.google.com/storage/docs/json_api/v1, /docs/performing-resumable-uploads, /docs/pubsub-notifications. The
client's behaviour was taken from its source and its requests: a range ends one byte too far, a last read past the end
gets 416, and uploads of any size are resumable.
"""

import base64
import itertools
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

import google_crc32c
import pytest

from tests.fakes_wire.http import served

Notify = Callable[[bytes, dict[str, str]], None]


@dataclass
class Blob:
    """One generation of an object."""

    data: bytes
    generation: int
    encoding: str = ""


class CloudStorage:
    """Buckets on loopback. Calls `notify` twice for each finished object, because delivery is at least once."""

    def __init__(self, notify: Notify = lambda data, attributes: None) -> None:
        self.objects: dict[tuple[str, str], Blob] = {}
        self.requests: list[str] = []
        self.fault: Callable[[str], str] = lambda request: ""
        """Returns the fault of the next answer: "" for none, "503", or "drop" for a connection that ends halfway."""
        self._notify = notify
        self._generations = itertools.count(1767225600000000)
        self._uploads: dict[str, tuple[str, str, bytearray, dict[str, list[str]]]] = {}
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    @contextmanager
    def serving(self) -> Iterator[Self]:
        """Serve until the context ends."""
        with served(self._http):
            yield self

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

    def find(self, bucket: str, name: str, generation: str | None) -> Blob | None:
        """Return the live object if it has the requested generation; the bucket keeps no other generations."""
        blob = self.objects.get((bucket, name))
        return blob if blob and generation in (None, str(blob.generation)) else None

    def begin(self, bucket: str, name: str, query: dict[str, list[str]]) -> str | None:
        """Start a resumable upload and return its id; None if its precondition fails."""
        if query.get("ifGenerationMatch") == ["0"] and (bucket, name) in self.objects:
            return None
        upload = f"upload-{len(self._uploads)}"
        self._uploads[upload] = (bucket, name, bytearray(), query)
        return upload

    def append(self, upload: str, data: bytes, *, last: bool) -> tuple[int, Any]:
        """Return the status and body of the answer to a chunk; for 308, the number of received bytes."""
        bucket, name, arrived, query = self._uploads[upload]
        arrived += data
        if not last:
            return 308, len(arrived)
        if query.get("ifGenerationMatch") == ["0"] and (bucket, name) in self.objects:
            return 412, _error(412, "conditionNotMet")
        self.put(bucket, name, bytes(arrived))
        return 200, self.resource(bucket, name)


@contextmanager
def emulated_storage() -> Iterator[CloudStorage]:
    """Serve buckets to the Cloud Storage clients of this process."""
    with CloudStorage().serving() as storage, pytest.MonkeyPatch.context() as patch:
        patch.setenv("STORAGE_EMULATOR_HOST", storage.url)
        patch.setenv("DISABLE_GCS_PYTHON_CLIENT_OTEL_BUCKET_METADATA", "true")
        yield storage


def _crc(data: bytes) -> str:
    return base64.b64encode(google_crc32c.Checksum(data).digest()).decode()


def _error(status: int, reason: str) -> dict[str, Any]:
    return {"error": {"code": status, "message": reason, "errors": [{"reason": reason, "message": reason}]}}


def _handler(storage: CloudStorage) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body in one segment
        disable_nagle_algorithm = True

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Log nothing."""

        def _send(self, status: int, body: Any = None, headers: dict[str, str] | None = None) -> None:
            data = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else b""
            request = f"{self.command} {self.path}"
            storage.requests.append(request)
            fault = storage.fault(request)
            if fault == "503":
                status, data, headers = 503, b"", {}
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: len(data) // 2] if fault == "drop" else data)
            self.close_connection = fault == "drop"

        def do_GET(self) -> None:
            split = urlsplit(self.path)
            query = parse_qs(split.query)
            matched = re.fullmatch(r"(/download)?/storage/v1/b/([^/]+)/o/([^/]+)", split.path)
            if not matched:
                self._send(200, {"kind": "storage#bucket", "name": split.path.rpartition("/")[2]})
                return
            bucket, name = unquote(matched[2]), unquote(matched[3])
            blob = storage.find(bucket, name, query.get("generation", [None])[0])
            if blob is None:
                self._send(404, _error(404, "notFound"))
            elif query.get("alt") == ["media"]:
                self._media(blob)
            else:
                self._send(200, storage.resource(bucket, name), {"Content-Type": "application/json"})

        def _media(self, blob: Blob) -> None:
            headers = {"X-Goog-Generation": str(blob.generation), "X-Goog-Hash": f"crc32c={_crc(blob.data)}"}
            if blob.encoding:
                headers["Content-Encoding"] = blob.encoding
            match = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("range", ""))
            if not match:
                self._send(200, blob.data, headers)
                return
            start, end = int(match[1]), min(int(match[2] or len(blob.data)), len(blob.data) - 1)
            if start >= len(blob.data):
                self._send(416, b"", {"Content-Range": f"bytes */{len(blob.data)}"})
                return
            headers["Content-Range"] = f"bytes {start}-{end}/{len(blob.data)}"
            self._send(206, blob.data[start : end + 1], headers)

        def do_POST(self) -> None:
            split = urlsplit(self.path)
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            bucket = unquote(split.path.split("/b/")[1].split("/")[0])
            upload = storage.begin(bucket, body["name"], parse_qs(split.query))
            if upload is None:
                self._send(412, _error(412, "conditionNotMet"))
                return
            where = f"{storage.url}/upload/storage/v1/b/{bucket}/o?uploadType=resumable&upload_id={upload}"
            self._send(200, b"", {"Location": where})

        def do_PUT(self) -> None:
            data = self.rfile.read(int(self.headers.get("content-length", 0)))
            last = not self.headers["content-range"].endswith("/*")
            upload = parse_qs(urlsplit(self.path).query)["upload_id"][0]
            status, body = storage.append(upload, data, last=last)
            if status == 308:
                self._send(308, b"", {"Range": f"bytes=0-{body - 1}"})
            else:
                self._send(status, body, {"Content-Type": "application/json"})

        def do_DELETE(self) -> None:
            self._send(499, b"")

    return Handler
