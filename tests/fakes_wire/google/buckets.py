"""Cloud Storage's JSON API, the part that `gcloud storage` calls: https://cloud.google.com/storage/docs/json_api/v1."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from email import message_from_bytes
from typing import Any
from urllib.parse import quote, unquote

from tests.fakes_wire.google.base import NOW
from tests.fakes_wire.google.errors import Answer, refused_of_old


@dataclass
class Bucket:
    """Settings and objects of a bucket."""

    name: str
    location: str = "EUROPE-WEST1"
    settings: dict[str, Any] = field(default_factory=dict)
    objects: dict[str, bytes] = field(default_factory=dict)
    generations: dict[str, int] = field(default_factory=dict)

    @property
    def versioned(self) -> bool:
        """Whether overwritten objects are kept."""
        return bool(self.settings.get("versioning", {}).get("enabled"))

    def put(self, name: str, content: bytes) -> None:
        """Write an object."""
        self.objects[name] = content
        self.generations[name] = self.generations.get(name, 1767225600000000) + 1

    def shown(self) -> dict[str, Any]:
        """Return the bucket as the API shows it, as a `buckets` resource."""
        return {
            "kind": "storage#bucket",
            "id": self.name,
            "name": self.name,
            "projectNumber": "123456789012",
            "generation": "1",
            "metageneration": "1",
            "location": self.location,
            "locationType": "region",
            "storageClass": "STANDARD",
            "timeCreated": NOW,
            "updated": NOW,
            **self.settings,
        }

    def shown_object(self, name: str, url: str) -> dict[str, Any]:
        """Return an object as the API shows it, as an `objects` resource.

        gcloud downloads the object from the link in this resource, and checks the content by its hash.
        """
        content = self.objects[name]
        return {
            "kind": "storage#object",
            "id": f"{self.name}/{name}/{self.generations[name]}",
            "name": name,
            "bucket": self.name,
            "generation": str(self.generations[name]),
            "metageneration": "1",
            "contentType": "application/octet-stream",
            "storageClass": "STANDARD",
            "size": str(len(content)),
            "md5Hash": base64.b64encode(hashlib.md5(content, usedforsecurity=False).digest()).decode(),
            "mediaLink": f"{url}/download/storage/v1/b/{self.name}/o/{quote(name, safe='')}?alt=media",
            "timeCreated": NOW,
            "updated": NOW,
        }


class Buckets:
    """The buckets of a project by name."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.known: dict[str, Bucket] = {}

    def answer(self, method: str, path: str, query: Mapping[str, str], body: Any) -> Answer:
        """Answer a call below /storage/v1/b, also below /upload."""
        matched = re.fullmatch(r"(/upload)?/storage/v1/b(?:/([^/]+)(?:/o(?:/([^/]+))?)?)?", path)
        if matched is None:
            return refused_of_old(404, "Not Found", "notFound")
        upload, name, object_name = matched.groups()
        if name is None:
            return self._create(body)
        bucket = self.known.get(name)
        if bucket is None:
            return refused_of_old(404, "The specified bucket does not exist.", "notFound")
        if upload:
            return self._upload(bucket, body)
        if object_name is not None:
            return self._object(bucket, method, unquote(object_name))
        if path.endswith("/o"):
            return 200, self._objects(bucket, query.get("prefix", ""))
        if method in ("PATCH", "PUT"):
            bucket.settings |= body
        return 200, bucket.shown()

    def read(self, bucket: str, name: str) -> Answer:
        """Return the content of an object: https://cloud.google.com/storage/docs/xml-api/get-object-download."""
        objects = self.known[bucket].objects
        if unquote(name) not in objects:
            return 404, "<?xml version='1.0'?><Error><Code>NoSuchKey</Code></Error>"
        return 200, objects[unquote(name)]

    def _create(self, body: dict[str, Any]) -> Answer:
        settings = {name: value for name, value in body.items() if name not in ("name", "location")}
        self.known[body["name"]] = Bucket(body["name"], body.get("location", "US").upper(), settings)
        return 200, self.known[body["name"]].shown()

    def _upload(self, bucket: Bucket, body: bytes) -> Answer:
        """Store an object from a multipart upload.

        The body is one MIME message with the description and the content. Its first line is the boundary.
        """
        boundary = body.split(b"\n", 1)[0].strip()[2:]
        message = message_from_bytes(b'Content-Type: multipart/related; boundary="' + boundary + b'"\n\n' + body)
        described, content = (part.get_payload(decode=True) for part in message.walk() if not part.is_multipart())
        assert isinstance(described, bytes)
        assert isinstance(content, bytes)
        name = json.loads(described)["name"]
        bucket.put(name, content)
        return 200, bucket.shown_object(name, self._url)

    def _object(self, bucket: Bucket, method: str, name: str) -> Answer:
        if name not in bucket.objects:
            return refused_of_old(404, f"No such object: {bucket.name}/{name}", "notFound")
        if method == "DELETE":
            del bucket.objects[name]
            return 204, None
        return 200, bucket.shown_object(name, self._url)

    def _objects(self, bucket: Bucket, prefix: str) -> dict[str, Any]:
        items = [bucket.shown_object(name, self._url) for name in sorted(bucket.objects) if name.startswith(prefix)]
        return {"kind": "storage#objects", "items": items, "prefixes": []}
