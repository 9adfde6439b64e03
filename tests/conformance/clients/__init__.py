"""MCP clients and agent frameworks. A script in each one's environment takes the same steps."""
