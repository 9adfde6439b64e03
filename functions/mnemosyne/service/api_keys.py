"""Create and parse API keys, and select the fields of a key that may be stored or shown."""

import re
import secrets
import string
from datetime import datetime
from typing import Any

from mnemosyne.domain.principal import ApiKey, Scope, hash_secret
from mnemosyne.observability import EventLog

log = EventLog(__name__)

PREFIX = "mnk"
ID_LENGTH = 12
SECRET_LENGTH = 43
"""Number of letters and digits of a secret. With 62 possible characters, 43 characters have 256 random bits."""
REPLACE_KEY = (
    "create a key with the same scopes with `mnemosyne keys create --name NAME --namespace NAMESPACE "
    "--project MY-PROJECT`, give it to the owner, then run `mnemosyne keys revoke ID --project MY-PROJECT`"
)
_ALPHABET = string.ascii_letters + string.digits
_KEY_ID = re.compile(rf"[0-9A-Za-z]{{{ID_LENGTH}}}")


def new_key(
    *, name: str, namespace: str, scopes: frozenset[Scope], created_at: datetime, expires_at: datetime | None
) -> tuple[ApiKey, str]:
    """Create a key and its bearer token `mnk_<id>_<secret>`. The token is not stored."""
    key_id, secret = _random_text(ID_LENGTH), _random_text(SECRET_LENGTH)
    key = ApiKey(
        id=key_id,
        name=name,
        namespace=namespace,
        scopes=scopes,
        secret_hash=hash_secret(secret),
        created_at=created_at,
        expires_at=expires_at,
    )
    return key, f"{PREFIX}_{key_id}_{secret}"


def split_token(token: str) -> tuple[str | None, str]:
    """Split the token `mnk_<id>_<secret>` of an API key into id and secret. For any other text, the id is None."""
    prefix, _, rest = token.partition("_")
    key_id, _, secret = rest.partition("_")
    return key_id if prefix == PREFIX and _KEY_ID.fullmatch(key_id) else None, secret


def key_id(authorization: str | None) -> str | None:
    """Return the id of the API key in an Authorization header, for logs; None if there is no API key."""
    return split_token((authorization or "").partition(" ")[2].strip())[0]


def log_expiry(key: ApiKey) -> None:
    """Log that an API key that is in use expires soon."""
    log.error(
        "key_expires_soon",
        key=key.id,
        namespace=key.namespace,
        expires_at=key.expires_at,
        cause="an API key that is in use expires within seven days",
        error=f"the key {key.id} of the namespace {key.namespace} expires at {key.expires_at}",
        next_step=REPLACE_KEY,
    )


def public_fields(key: ApiKey) -> dict[str, Any]:
    """Return the fields of an API key without the hash of its secret."""
    return {
        "id": key.id,
        "name": key.name,
        "namespace": key.namespace,
        "scopes": sorted(key.scopes),
        "created_at": key.created_at.isoformat(),
        "expires_at": key.expires_at and key.expires_at.isoformat(),
        "revoked_at": key.revoked_at and key.revoked_at.isoformat(),
        "blocked_at": key.blocked_at and key.blocked_at.isoformat(),
        "last_used_at": key.last_used_at and key.last_used_at.isoformat(),
    }


def _random_text(length: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))
