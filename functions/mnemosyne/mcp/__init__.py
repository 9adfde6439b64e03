"""The MCP side: tools with their schemas and descriptions, and the server that lists and calls them."""
