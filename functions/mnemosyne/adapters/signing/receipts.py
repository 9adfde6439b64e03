"""Sign receipts of forgettings (deletions of selected memories), and verify these receipts offline.

The signatures are JSON Web Signatures (RFC 7515) with ES256.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import ECKey

from mnemosyne.adapters.signing.key_files import ALGORITHM
from mnemosyne.domain.parsing import read_json
from mnemosyne.errors import InvalidRequest
from mnemosyne.ports.identity import Signer

TYPE: Final = "mnemosyne-receipt+jwt"
"""Type in the header of a receipt. Without it, another token that the same key has signed could pass as a receipt."""


def sign(receipt: Mapping[str, Any], signer: Signer) -> dict[str, Any]:
    """Sign a receipt, and return the fields `signature` and `key` (the public key) of the signed document."""
    signature = signer.sign(receipt, type_=TYPE)
    key_id = jws.extract_compact(signature.encode()).headers()["kid"]
    return {"signature": signature, "key": next(key for key in signer.public_keys() if key["kid"] == key_id)}


def verify(document: Mapping[str, Any], trusted: Sequence[Mapping[str, Any]] = ()) -> str:
    """Verify a signed receipt and its list of ids, and return the thumbprint (RFC 7638) of the key that has signed it.

    The signature is verified with the `trusted` keys or, without them, with the key in the document. Anybody could have
    put that key there, so the caller must compare the returned thumbprint with the thumbprint of a trusted key. Raises
    InvalidRequest, with the reason, if the document was altered or was signed with a key other than these keys.
    """
    receipt, signature, ids = (document.get(name) for name in ("receipt", "signature", "ids"))
    if not isinstance(receipt, Mapping) or not isinstance(signature, str) or not isinstance(ids, list):
        raise InvalidRequest("a receipt must have the fields receipt, ids, signature and key")
    for key in map(_import_key, trusted or (document.get("key"),)):
        try:
            signed = jws.deserialize_compact(signature, key, algorithms=[ALGORITHM])
        except (JoseError, ValueError):
            continue
        if signed.headers().get("typ") != TYPE:
            raise InvalidRequest("the signature has another type than the signature of a receipt")
        if read_json(signed.payload, of="the signed receipt") != dict(receipt):
            raise InvalidRequest("the receipt was altered after it was signed")
        if sha256("".join(f"{memory_id}\n" for memory_id in ids).encode()).hexdigest() != receipt.get("ids_sha256"):
            raise InvalidRequest("the ids were altered after the receipt was signed")
        return str(key.thumbprint())
    raise InvalidRequest("the signature is wrong: the receipt was altered, or another key has signed it")


def _import_key(key: object) -> ECKey:
    try:
        return ECKey.import_key(key)  # type: ignore[arg-type]
    except (JoseError, ValueError, TypeError, KeyError) as exc:
        raise InvalidRequest("the key must be a public EC key as a JWK") from exc
