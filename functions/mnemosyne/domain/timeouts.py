"""Timeouts for the database, the shortest first. Pure."""

STATEMENT_SECONDS = 30
"""Default timeout of a statement, which the database server enforces."""
SOCKET_TIMEOUT_SECONDS = 45.0
"""Timeout of reading from the connection. The server ends statements earlier, so a read reaches this timeout only if
the server does not respond at all."""
