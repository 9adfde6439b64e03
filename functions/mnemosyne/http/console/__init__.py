"""The console: a static page at `/` that calls `/mcp` with the user's credential."""
