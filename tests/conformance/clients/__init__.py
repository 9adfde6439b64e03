"""MCP clients and agent frameworks: a script in the environment of each client runs the same steps."""
