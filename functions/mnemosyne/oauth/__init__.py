"""OAuth 2.1 authorization server for MCP clients, based on Authlib. It contains no HTTP and no database code."""
