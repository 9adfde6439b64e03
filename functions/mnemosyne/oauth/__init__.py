"""The authorization server: OAuth 2.1 for MCP's clients, on Authlib's grants. Knows no HTTP and no database."""
