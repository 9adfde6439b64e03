"""Signing keys as files, for one machine: the newest signs, and each is published while it is there."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from joserfc import jwt
from joserfc.jwk import ECKey

ALGORITHM = "ES256"
JWT_TYPE = "at+jwt"
"""https://www.rfc-editor.org/rfc/rfc9068#section-2.1."""


class KeyFiles:
    """The Signer whose keys are PEM files in a directory; where there is none yet, one is made."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir(mode=0o700, exist_ok=True)
        if not self._files():
            self.rotate()

    def rotate(self) -> None:
        """Make a key, with which tokens are signed from now on; the older ones are published as before."""
        number = len(self._files()) + 1
        descriptor, made = tempfile.mkstemp(dir=self._directory)  # for nobody else to read
        with os.fdopen(descriptor, "wb") as file:
            file.write(ECKey.generate_key("P-256").as_pem(private=True))
        with suppress(FileExistsError):  # of two processes that make one at once the first has made it
            os.link(made, self._directory / f"{number:06d}.pem")
        Path(made).unlink()

    def sign(self, claims: Mapping[str, Any]) -> str:
        """Return the claims as a signed token, by the newest key."""
        key = self._keys()[-1]
        header = {"typ": JWT_TYPE, "alg": ALGORITHM, "kid": key.thumbprint()}
        return jwt.encode(header, dict(claims), key, algorithms=[ALGORITHM])

    def public_keys(self) -> Sequence[Mapping[str, Any]]:
        """Return every key as a JWK, without its private part."""
        return [
            {**key.as_dict(private=False), "kid": key.thumbprint(), "use": "sig", "alg": ALGORITHM}
            for key in self._keys()
        ]

    def _keys(self) -> list[ECKey]:
        return [ECKey.import_key(file.read_bytes()) for file in self._files()]

    def _files(self) -> list[Path]:
        return sorted(self._directory.glob("*.pem"))
