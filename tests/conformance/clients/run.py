"""Run common MCP clients through the same steps, and write the table of `docs/clients.md`: `make clients`."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
HERE = ROOT / "tests" / "conformance"
DOCUMENT = ROOT / "docs" / "clients.md"
BEGIN, END = "<!-- make clients -->\n", "<!-- end -->\n"
STEPS = ("connect", "list", "ingest", "status", "search", "error", "delete")


@dataclass(frozen=True)
class Client:
    """A client: its name in the table, the packages to install, and its name in the script that runs it."""

    name: str
    script: str
    packages: tuple[str, ...] = ()
    """Packages of a Python client, which are installed in a separate environment. The packages of JavaScript clients
    are in js/package.json."""
    javascript: bool = False
    quick: bool = True
    """Whether the client's installation is short enough for CI."""
    nightly: bool = False
    """Whether the client's installation is short enough only for the nightly run of CI."""


CLIENTS = (
    Client("mcp for Python, auto", "mcp auto"),
    Client("mcp for Python, handshake", "mcp legacy", nightly=True),
    Client("mcp for Python, 2026-07-28", "mcp 2026-07-28", nightly=True),
    Client("mcp for Python", "mcp 1.x", ("mcp==1.30.0",), quick=False),
    Client("mcp for Python", "mcp 1.x", ("mcp==1.26.0",), nightly=True),
    Client("mcp for Python", "mcp 1.x", ("mcp==1.12.4", "pydantic==2.11.7"), quick=False),
    Client("mcp for Python", "mcp 1.x", ("mcp==1.9.4", "pydantic==2.11.7"), nightly=True),
    Client("@modelcontextprotocol/sdk", "sdk", javascript=True),
    Client("@modelcontextprotocol/client", "client", javascript=True),
    Client("mcp-remote", "mcp-remote", javascript=True, nightly=True),
    Client("MCP Inspector, its command line", "inspector", javascript=True, nightly=True),
    Client("Vercel's AI SDK (@ai-sdk/mcp)", "ai-sdk", javascript=True),
    Client("Vercel's AI SDK (@ai-sdk/mcp)", "ai-sdk-1", javascript=True, nightly=True),
    Client("OpenAI Agents SDK, strict", "openai-agents", ("openai-agents==0.24.0",), nightly=True),
    Client("Anthropic's SDK", "anthropic", ("anthropic[mcp]==2.12.0",), quick=False),
    Client("Google ADK", "google-adk", ("google-adk[mcp]==2.13.0",), nightly=True),
    Client("LangChain (langchain-mcp-adapters)", "langchain", ("langchain-mcp-adapters==0.3.2",), quick=False),
    Client("Pydantic AI", "pydantic-ai", ("pydantic-ai-slim[mcp]==2.68.0",), quick=False),
    Client("LlamaIndex (llama-index-tools-mcp)", "llama-index", ("llama-index-tools-mcp==0.6.0",), quick=False),
    Client("AutoGen (autogen-ext)", "autogen", ("autogen-ext[mcp]==0.7.5", "mcp<2"), quick=False),
    Client("Semantic Kernel", "semantic-kernel", ("semantic-kernel[mcp]==1.45.0",), quick=False),
    Client("DSPy", "dspy", ("dspy==3.4.1", "mcp"), quick=False),
    Client("FastMCP", "fastmcp", ("fastmcp==4.1.2",), quick=False),
)


def drive(client: Client, url: str, javascript: str) -> tuple[str, dict[str, str]]:
    """Return the client's version and the result of each step. Raises if a step failed."""
    from tests.packages import environment

    if client.javascript:
        command: list[str | Path] = ["node", HERE / "js" / "frameworks.mjs", client.script, url]
    else:
        of_ours = Path(sys.executable)
        python = environment(HERE / ".clients" / client.packages[0], *client.packages) if client.packages else of_ours
        command = [python, HERE / "clients" / "frameworks.py", client.script, url]
    environ = {**os.environ, "PATH": javascript}
    ended = subprocess.run(command, capture_output=True, text=True, timeout=180, env=environ, check=False)
    if ended.returncode:
        raise AssertionError(f"{client.name}: {ended.stdout[-1_000:]}{ended.stderr[-2_000:]}")
    result = json.loads(ended.stdout.strip().splitlines()[-1])
    return result["version"], result["steps"]


def table(rows: Sequence[tuple[Client, str, dict[str, str]]]) -> str:
    """The table of clients and results."""
    head = ["client", "version", *STEPS]
    lines = [[client.name, version, *(steps.get(step, "no") for step in STEPS)] for client, version, steps in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in [head, ["---"] * len(head), *lines])


def main() -> None:
    """Run all clients and write the table."""
    from tests.conformance.conftest import install_javascript
    from tests.dev import DevServer

    with tempfile.TemporaryDirectory() as scratch:
        dev = DevServer(Path(scratch))
        dev.start()
        try:
            page = table([(client, *drive(client, dev.url, install_javascript(nightly=True))) for client in CLIENTS])
        finally:
            dev.stop()
    before, rest = DOCUMENT.read_text().split(BEGIN)
    DOCUMENT.write_text(f"{before}{BEGIN}{page}{END}{rest.split(END)[1]}")
    sys.stdout.write(page)


if __name__ == "__main__":
    main()
