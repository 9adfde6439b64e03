"""Cloud KMS over REST: one asymmetric key, its versions, and signatures that only a real public key verifies.

The fake has the following properties of Cloud KMS. Versions are listed in pages. A version that is not enabled neither
shows its key nor signs. Digests and answers have CRC32C checksums. 64-bit numbers are sent as strings, and enumerated
values as numbers. If a precondition is not met, the answer is an ordinary 400. Sources:
https://cloud.google.com/kms/docs/reference/rest, https://cloud.google.com/kms/docs/key-states and
https://cloud.google.com/apis/design/errors#handling_errors.
"""

import base64
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, unquote

import google_crc32c
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
from google.cloud.kms_v1.types import CryptoKeyVersion

from tests.fakes_wire.http import JsonServer

KEY = "projects/p/locations/l/keyRings/r/cryptoKeys/k"
PAGE = 2


class KmsServer(JsonServer):
    """Server with one key.

    If `refusal` is set, it is the response. `damage` names a part of the response to corrupt. `fault` is called for
    each request, and can answer instead.
    """

    def __init__(self) -> None:
        super().__init__()
        self.versions: dict[str, dict[str, Any]] = {}
        self.algorithm = "EC_SIGN_P256_SHA256"
        self.refusal: tuple[int, str] | None = None
        self.damage = ""
        self.fault: Callable[[], tuple[int, Any] | None] = lambda: None
        self.asked: list[str] = []
        self._keys: dict[str, ec.EllipticCurvePrivateKey] = {}

    def rotate(self, *, days_old: float = 1.0) -> str:
        """Make a key version and return its name."""
        name = f"{KEY}/cryptoKeyVersions/{len(self.versions) + 1}"
        created_at = datetime.now(UTC) - timedelta(days=days_old)
        self.versions[name] = {
            "name": name,
            "state": "ENABLED",
            "algorithm": self.algorithm,
            "createTime": created_at.isoformat().replace("+00:00", "Z"),
        }
        self._keys[name] = ec.generate_private_key(ec.SECP256R1())
        return name

    def answer(self, path: str, body: Any, headers: Mapping[str, str]) -> tuple[int, Any]:
        path, _, query = path.removeprefix("/v1/").partition("?")
        assert "$alt=json;enum-encoding=int" in unquote(query)
        parameters = {name: values[0] for name, values in parse_qs(query).items()}
        name, _, method = path.rpartition(":" if path.endswith(":asymmetricSign") else "/")
        self.asked.append(method)
        if (faulty := self.fault()) is not None:
            return faulty
        if self.refusal:
            return _refused(*self.refusal)
        if method == "cryptoKeyVersions":
            return self._list(name, parameters)
        if self.versions[name]["state"] != "ENABLED":
            message = f"{name} is not enabled, current state is: {self.versions[name]['state']}."
            return _refused(400, "FAILED_PRECONDITION", message)
        return self._public_key(name) if method == "publicKey" else self._sign(name, body)

    def _list(self, key: str, query: Mapping[str, str]) -> tuple[int, Any]:
        assert (key, query["filter"]) == (KEY, "state=ENABLED")
        enabled = [_numbered(version) for version in self.versions.values() if version["state"] == "ENABLED"]
        start = int(query.get("pageToken", 0))
        answer: dict[str, Any] = {"cryptoKeyVersions": enabled[start : start + PAGE], "totalSize": len(enabled)}
        if start + PAGE < len(enabled):
            answer["nextPageToken"] = str(start + PAGE)
        return 200, answer if enabled else {}

    def _public_key(self, name: str) -> tuple[int, Any]:
        key = self._keys[name].public_key()
        pem = key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        sum_ = str(google_crc32c.value(pem) + (self.damage == "pem"))
        return 200, _numbered({"name": name, "pem": pem.decode(), "algorithm": self.algorithm, "pemCrc32c": sum_})

    def _sign(self, name: str, body: Any) -> tuple[int, Any]:
        digest = base64.b64decode(body["digest"]["sha256"])
        intact = body["digestCrc32c"] == str(google_crc32c.value(digest))
        signature = self._keys[name].sign(digest, ec.ECDSA(Prehashed(hashes.SHA256())))
        return 200, {
            "name": f"{name}0" if self.damage == "name" else name,
            "signature": base64.b64encode(signature).decode(),
            "signatureCrc32c": str(google_crc32c.value(signature) + (self.damage == "signature")),
            "verifiedDigestCrc32c": intact and self.damage != "digest",
        }


def _refused(code: int, status: str, message: str = "no") -> tuple[int, Any]:
    return code, {"error": {"code": code, "message": message, "status": status}}


def _numbered(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the answer with numbers in place of the names of enumerated values, as the client requests."""
    numbers: dict[str, Any] = {
        "state": CryptoKeyVersion.CryptoKeyVersionState,
        "algorithm": CryptoKeyVersion.CryptoKeyVersionAlgorithm,
    }
    return {name: int(numbers[name][value]) if name in numbers else value for name, value in answer.items()}
