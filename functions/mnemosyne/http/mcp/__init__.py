"""HTTP side of the `mcp` function, in front of the MCP server: access, middleware, streams and batches."""
