"""How much one network may ask of each endpoint of the authorization server.

Each endpoint counts for itself, so that a flood at one of them leaves the others open to its own network too. A large
network (/24 of IPv4, /48 of IPv6) has four times as much. The budgets are those of one instance.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Door:
    """An endpoint, or a step of one that costs more than the rest."""

    name: str
    per_minute: int
    """Requests of one small network: an IPv4 address, or an IPv6 /64."""
    asks_provider: bool = False
    """Whether a request may wait for the identity provider."""


METADATA: Final = Door("metadata", 600)
KEYS: Final = Door("keys", 600)
STYLE: Final = Door("style", 600)
REGISTER: Final = Door("register", 60)
AUTHORIZE: Final = Door("authorize", 60, asks_provider=True)
DOCUMENT: Final = Door("document", 20)
"""Client metadata documents that are fetched for a request to /authorize."""
LOG_IN_PAGE: Final = Door("log_in_page", 60)
LOG_IN: Final = Door("log_in", 20, asks_provider=True)
CALLBACK: Final = Door("callback", 20, asks_provider=True)
CONSENT: Final = Door("consent", 120)
ACCOUNT: Final = Door("account", 60, asks_provider=True)
TOKEN: Final = Door("token", 240)
"""A hosted client refreshes the tokens of all its users from a few addresses."""
REVOKE: Final = Door("revoke", 60)
