"""Fakes of the sources of a process's identity: the metadata server, and the token endpoint of a key file."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.fakes_wire.http import JsonServer

PEM = serialization.Encoding.PEM

EMAIL = "ingest@test-project.iam.gserviceaccount.com"
TOKEN = "ya29.a-token"


class MetadataServer(JsonServer):
    """A metadata server for google-auth: https://cloud.google.com/compute/docs/metadata/overview."""

    headers = MappingProxyType({"Metadata-Flavor": "Google"})

    def __init__(self) -> None:
        super().__init__()

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables that make google-auth use this metadata server."""
        return {
            "GCE_METADATA_HOST": self.host,
            "GCE_METADATA_IP": self.host,
            "GCE_METADATA_DETECT_RETRIES": "1",
            "CLOUDSDK_CONFIG": "/nonexistent",
        }

    def write_credentials(self, file: Path) -> Path:
        """Write a key file of a service account whose tokens this server issues, for processes without metadata."""
        key = rsa.generate_private_key(public_exponent=65537, key_size=1024)  # short, so that reading it is fast
        pem = key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode()
        account = {"type": "service_account", "client_email": EMAIL, "private_key": pem}
        file.write_text(json.dumps(account | {"token_uri": f"{self.url}/token", "project_id": "test-project"}))
        return file

    def answer(self, path: str, body: Any, headers: Mapping[str, str]) -> tuple[int, Any]:
        if path == "/token" or "/token?" in path or path.endswith("/token"):
            return 200, {"access_token": TOKEN, "expires_in": 3600, "token_type": "Bearer"}
        if path.startswith("/computeMetadata/v1/instance/service-accounts/"):
            return 200, {"email": EMAIL, "scopes": ["https://www.googleapis.com/auth/cloud-platform"]}
        if path.startswith("/computeMetadata/v1/universe"):
            return 200, "googleapis.com"
        if path.startswith("/computeMetadata/v1/project/project-id"):
            return 200, "test-project"
        return (200, "ok") if path == "/" else (404, "not found")
