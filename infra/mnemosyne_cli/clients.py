"""How to connect each common client, as printed by `mnemosyne dev`."""

_TEMPLATE = """\
  MCP endpoint   {url}
  Data and logs  {directory}

Try it:
  curl -s {url} -H 'Content-Type: application/json' -d '{try_it}'

Connect a client:
  Claude Code     claude mcp add --transport http mnemosyne {url}
  Claude Desktop  claude_desktop_config.json:
                  {{"mcpServers": {{"mnemosyne": {{"command": "npx", "args": ["-y", "mcp-remote", "{url}"]}}}}}}
  Cursor          ~/.cursor/mcp.json:
                  {{"mcpServers": {{"mnemosyne": {{"url": "{url}"}}}}}}
  VS Code         .vscode/mcp.json:
                  {{"servers": {{"mnemosyne": {{"type": "http", "url": "{url}"}}}}}}
  Gemini CLI      ~/.gemini/settings.json:
                  {{"mcpServers": {{"mnemosyne": {{"httpUrl": "{url}"}}}}}}
  MCP Inspector   npx @modelcontextprotocol/inspector --cli {url} --transport http --method tools/list

Ctrl-C stops everything; the data stays."""

_TRY_IT = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'


def how_to_connect(url: str, directory: str) -> str:
    """Return the endpoint, a line to try it with, and each client's configuration."""
    return _TEMPLATE.format(url=url, directory=directory, try_it=_TRY_IT)
