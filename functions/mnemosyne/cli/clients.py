"""Explain how to try the server and how to connect each common client. `mnemosyne dev` prints these explanations."""

import json
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

KEY = "mnk_…"
"""Placeholder for an API key in printed examples. The keys are not known, because a key is shown only when it is
created."""
_TEMPLATE = """\
  Console        {console}
  MCP endpoint   {url}
  Data and logs  {directory}

Try it, in another terminal:
  {prefix}{command} remember "The oolong is on shelf 7."{at}
  {prefix}{command} search "Where is the oolong?"{at}
  curl -s {quoted_url} -H 'Content-Type: application/json'{curl_header} -d '{try_it}'

Connect a client:
  Claude Code     claude mcp add --transport http mnemosyne {quoted_url}{header}
  Claude Desktop  claude_desktop_config.json:
                  {desktop}
  Cursor          ~/.cursor/mcp.json:
                  {cursor}
  VS Code         .vscode/mcp.json:
                  {vs_code}
  Gemini CLI      ~/.gemini/settings.json:
                  {gemini}
  MCP Inspector   npx @modelcontextprotocol/inspector --cli {quoted_url} --transport http --method tools/list{header}

Ctrl-C stops everything; the data stays."""

_TRY_IT = (
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_search",'
    '"arguments":{"query":"Where is the oolong?"}}}'
)


def how_to_connect(url: str, directory: str, *, auth_mode: str = "none", is_default: bool = False) -> str:
    """Return the endpoint, commands to try the server, and the configuration of each client.

    Where an API key is needed, the text contains a placeholder for it. With OAuth, clients need no key, because their
    users log in. The printed commands cannot log in, so they need a key. If `is_default` is true, the `mnemosyne`
    command uses this system by default. Otherwise the printed commands name the URL.
    """
    with_key = auth_mode == "api_key"
    authorization = f"Authorization: Bearer {KEY}"
    headers: dict[str, Any] = {"headers": {"Authorization": f"Bearer {KEY}"}} if with_key else {}
    remote = ["-y", "mcp-remote", url, *(["--header", authorization] if with_key else [])]
    quoted_url = shlex.quote(url)  # without quotes, zsh would expand the brackets of an IPv6 address
    return _TEMPLATE.format(
        url=url,
        quoted_url=quoted_url,
        console=url.removesuffix("mcp"),
        directory=directory,
        command=command(),
        prefix=f"MNEMOSYNE_TOKEN={KEY} " if auth_mode != "none" else "",
        at="" if is_default else f" --url {quoted_url}",
        header=f' --header "{authorization}"' if with_key else "",
        curl_header=f" -H '{authorization}'" if auth_mode != "none" else "",
        try_it=_TRY_IT,
        desktop=_config_json({"command": "npx", "args": remote}),
        cursor=_config_json({"url": url, **headers}),
        vs_code=_config_json({"type": "http", "url": url, **headers}, under="servers"),
        gemini=_config_json({"httpUrl": url, **headers}),
    )


def command() -> str:
    """Return the command that starts this program from any directory, quoted for a shell.

    It is `mnemosyne`, or the path of this program if a shell would not find this program in PATH.
    """
    program = Path(sys.argv[0]).absolute()
    if program.name != "mnemosyne":
        return "mnemosyne"
    on_path = shutil.which("mnemosyne")
    if on_path and Path(on_path).absolute() == program:
        return "mnemosyne"
    return shlex.quote(str(program))


def _config_json(server: dict[str, Any], under: str = "mcpServers") -> str:
    """Return a client's configuration of this server. `under` is the name of the client's object with all servers."""
    return json.dumps({under: {"mnemosyne": server}}, ensure_ascii=False)
