"""Signing keys in files, for a local server. The newest key signs, and the public keys of all files are published."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from joserfc import jwt
from joserfc.jwk import ECKey

from mnemosyne.ports.identity import ACCESS_TOKEN

ALGORITHM = "ES256"


class KeyFiles:
    """A Signer whose keys are PEM files in a directory. Creates the first key if there is none."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir(mode=0o700, exist_ok=True)
        if not self._list_files():
            self.rotate()

    def rotate(self) -> None:
        """Create a key, which signs from now on. The public keys of the older keys stay published."""
        number = max((int(file.stem) for file in self._list_files() if file.stem.isdecimal()), default=0) + 1
        descriptor, temporary = tempfile.mkstemp(dir=self._directory)  # only the owner can read the file
        with os.fdopen(descriptor, "wb") as file:
            file.write(ECKey.generate_key("P-256").as_pem(private=True))
        with suppress(FileExistsError):  # another process has created the key at the same time
            os.link(temporary, self._directory / f"{number:06d}.pem")
        Path(temporary).unlink()

    def sign(self, claims: Mapping[str, Any], type_: str = ACCESS_TOKEN) -> str:
        return signed_token(claims, type_, self._read_keys()[-1])

    def public_keys(self) -> Sequence[Mapping[str, Any]]:
        return [public_jwk(key) for key in self._read_keys()]

    def _read_keys(self) -> list[ECKey]:
        return [ECKey.import_key(file.read_bytes()) for file in self._list_files()]

    def _list_files(self) -> list[Path]:
        return sorted(self._directory.glob("*.pem"))


def signed_token(claims: Mapping[str, Any], type_: str, key: ECKey) -> str:
    """Return a JWT that the key has signed."""
    header = {"typ": type_, "alg": ALGORITHM, "kid": key.thumbprint()}
    return jwt.encode(header, dict(claims), key, algorithms=[ALGORITHM])


def public_jwk(key: ECKey) -> Mapping[str, Any]:
    """Return the public key as a JWK."""
    return {**key.as_dict(private=False), "kid": key.thumbprint(), "use": "sig", "alg": ALGORITHM}
