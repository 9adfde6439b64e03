"""OAuth requests with validated parameters, and with the interface that Authlib expects."""

import base64
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote

from authlib.oauth2.rfc6749 import OAuth2Payload, OAuth2Request

from mnemosyne.domain.redirect_uris import URI_LENGTH
from mnemosyne.errors import InvalidRequest

PARAMETERS = 30
LENGTHS = {"state": 8_000, "token": 8_000}
"""Maximum characters of long parameters. Some clients put a signed or encrypted value into `state`, for which RFC 6749
has no limit. An access token contains the names of a person and a namespace, and the id of a client."""
PARAMETER_NAMES = frozenset({
    "client_id", "code", "code_challenge", "code_challenge_method", "code_verifier", "grant_type", "redirect_uri",
    "refresh_token", "resource", "response_type", "scope", "token",
})  # fmt: skip
# Characters that an error may contain: https://www.rfc-editor.org/rfc/rfc6749#section-4.1.2.1.
_QUOTABLE = re.compile(r"[\x20-\x21\x23-\x5B\x5D-\x7E]*")
_STATE = re.compile(r"[\x20-\x7E]*")


class _Payload(OAuth2Payload):  # type: ignore[misc]
    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self._lists: defaultdict[str, list[str]] = defaultdict(list)
        for name, value in pairs:
            self._lists[name].append(value)
        self._data = {name: values[0] for name, values in self._lists.items()}

    @property
    def data(self) -> dict[str, str]:
        """The first value of each parameter."""
        return self._data

    @property
    def datalist(self) -> defaultdict[str, list[str]]:
        """All values of each parameter."""
        return self._lists


class OAuthRequest(OAuth2Request):  # type: ignore[misc]
    """A request to an endpoint of the authorization server. `authorization` is its header of this name."""

    def __init__(self, method: str, url: str, pairs: Iterable[tuple[str, str]], authorization: str = "") -> None:
        super().__init__(method, url, headers={"Authorization": authorization} if authorization else {})
        pairs = list(pairs)
        has_client_id = any(name == "client_id" and value for name, value in pairs)
        self.payload = _Payload(
            _validate_parameters(pairs if has_client_id else [*pairs, *_basic_client_id(authorization)])
        )

    @property
    def form(self) -> Mapping[str, str]:
        """The parameters of the request, from its body or its query. Authlib reads them as `form` and as `args`."""
        data: dict[str, str] = self.payload.data
        return data

    args = form

    @property
    def stored_parameters(self) -> dict[str, Any]:
        """The parameters of an authorization request, which are stored until the person has decided."""
        return {name: value for name, value in self.form.items() if name in PARAMETER_NAMES | {"state"}}


def _basic_client_id(authorization: str) -> list[tuple[str, str]]:
    """Return the client_id of a Basic header without a secret (RFC 6749, section 2.3.1); empty if there is none.

    Some clients do not encode the colons of the id. Therefore the last colon ends the id.
    """
    scheme, _, encoded = authorization.partition(" ")
    try:
        client_id, _, secret = base64.b64decode(encoded, validate=True).decode().rpartition(":")
    except ValueError:
        return []
    return [("client_id", unquote(client_id))] if scheme.lower() == "basic" and not secret else []


def _validate_parameters(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the known parameters that are not empty. Raises InvalidRequest for invalid or repeated parameters."""
    if len(pairs) > PARAMETERS:
        raise InvalidRequest(f"a request has at most {PARAMETERS} parameters, got {len(pairs)}")
    known_pairs = [(name, value) for name, value in pairs if value and (name in PARAMETER_NAMES or name == "state")]
    for name, value in known_pairs:
        limit = LENGTHS.get(name, URI_LENGTH)
        if len(value) > limit or not (_STATE if name == "state" else _QUOTABLE).fullmatch(value):
            rest = "" if name == "state" else ", without quotation marks and backslashes"
            raise InvalidRequest(f"{name} must be at most {limit:,} printable characters of ASCII{rest}")
    for name in {name for name, _ in known_pairs if name != "resource"}:
        if sum(other == name for other, _ in known_pairs) > 1:
            raise InvalidRequest(f"{name} must be sent once")
    return known_pairs
