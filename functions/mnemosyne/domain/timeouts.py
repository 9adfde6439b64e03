"""Timeouts for the database, the shortest first. Pure."""

STATEMENT_SECONDS = 30
"""Default timeout of a statement, which the database server enforces."""
SOCKET_TIMEOUT_SECONDS = 45.0
"""Timeout of reading from the connection. It is longer than the timeout of a statement, so a read only reaches it if
the server does not respond at all."""
