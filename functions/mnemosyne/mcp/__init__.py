"""The MCP server and its tools, with their schemas and descriptions."""
