"""The console: a static page at `/` that is itself a client of `/mcp`, with its caller's own credential."""
