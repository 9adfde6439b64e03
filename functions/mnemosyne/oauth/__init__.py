"""OAuth 2.1 authorization server for MCP clients, based on Authlib, without HTTP and database code."""
