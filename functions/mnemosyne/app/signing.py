"""Build a signer. A setting names the key with which it signs."""

import re
from functools import partial
from pathlib import Path

from mnemosyne.errors import Misconfigured
from mnemosyne.ports.identity import Signer
from mnemosyne.settings import Settings, variable

_FILE = "file://"
_KMS_KEY = re.compile(r"projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+")


def signer(key: str, setting: str, settings: Settings) -> Signer:
    """Return a signer that uses a key of Cloud KMS or, in a local system, the key files in a directory.

    `key` is the name of the key in Cloud KMS or the file URL of the directory. `setting` is the name of the setting
    that has this value. Raises Misconfigured if the value is not valid.
    """
    name = variable(setting)
    if key.startswith(_FILE):
        if settings.k_service:
            raise Misconfigured(f"{name} must be a key of Cloud KMS, because files are lost with their instance")
        from mnemosyne.adapters.signing.key_files import KeyFiles

        return KeyFiles(Path(key.removeprefix(_FILE)))
    if not _KMS_KEY.fullmatch(key):
        raise Misconfigured(
            f"{name} must be projects/P/locations/L/keyRings/R/cryptoKeys/K or file:///directory, got {key!r}"
        )
    from mnemosyne.adapters.signing import cloud_kms

    return cloud_kms.CloudKmsKeys(key, partial(cloud_kms.connect, settings.kms_endpoint))
