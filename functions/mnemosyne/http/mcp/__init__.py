"""HTTP side of the `mcp` function: access, middleware, streams and batches in front of the MCP server."""
