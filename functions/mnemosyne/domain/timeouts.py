"""Timeouts for the database, from the inside out. Pure."""

STATEMENT_SECONDS = 30
"""Default statement timeout, enforced by the server."""
SOCKET_TIMEOUT_SECONDS = 45.0
"""Timeout of the connection. It is longer, so that it applies only if the server does not respond at all."""
