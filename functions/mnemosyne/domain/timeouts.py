"""How long the parts wait for the database, each longer than the one within. Pure."""

STATEMENT_SECONDS = 30
"""A statement, unless a function says otherwise; then the server ends it."""
SOCKET_TIMEOUT_SECONDS = 45.0
"""An answer of the server's: reached only where it no longer answers at all."""
