"""Rate limits of the authorization server, per endpoint and network.

Each endpoint has a separate budget, so that a flood at one endpoint does not block other endpoints. A large network
(IPv4 /24, IPv6 /48) has four times the budget of a small network (IPv4 address, IPv6 /64). Each instance counts
separately.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class EndpointLimit:
    """The rate limit of an endpoint, or of an expensive step in it."""

    name: str
    per_minute: int
    """Maximum requests per minute from one small network: an IPv4 address or IPv6 /64."""
    asks_provider: bool = False
    """Whether a request may wait for the identity provider."""


METADATA: Final = EndpointLimit("metadata", 600)
KEYS: Final = EndpointLimit("keys", 600)
STYLE: Final = EndpointLimit("style", 600)
REGISTER: Final = EndpointLimit("register", 60)
AUTHORIZE: Final = EndpointLimit("authorize", 60, asks_provider=True)
DOCUMENT: Final = EndpointLimit("document", 20)
"""Limit of the fetches of client metadata documents at /authorize."""
LOG_IN_PAGE: Final = EndpointLimit("log_in_page", 60)
LOG_IN: Final = EndpointLimit("log_in", 20, asks_provider=True)
CALLBACK: Final = EndpointLimit("callback", 20, asks_provider=True)
CONSENT: Final = EndpointLimit("consent", 120)
ACCOUNT: Final = EndpointLimit("account", 60, asks_provider=True)
TOKEN: Final = EndpointLimit("token", 240)
"""Limit of requests for tokens. It is high, because a hosted client refreshes the tokens of all its users from a few
addresses."""
REVOKE: Final = EndpointLimit("revoke", 60)
