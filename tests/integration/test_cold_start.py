"""Imports at the start of each function: only the heavy libraries that the function uses."""

import subprocess
import sys
from pathlib import Path

import pytest

FUNCTIONS = Path(__file__).parents[2] / "functions"

PROGRAM = """
import asyncio, json, sys
import httpx
import main
from mnemosyne.app import entry_points

async def go():
    transport = httpx.ASGITransport(app=entry_points.mcp_app())
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        for body, status, heavy in {calls}:
            response = await client.post("/mcp", json=body)
            assert response.status_code == status, response.text
            assert status != 200 or not response.json()["result"].get("isError"), response.text
            print([name for name in heavy if name in sys.modules])
asyncio.run(go())
"""
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
INGEST = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "ingest_memory", "arguments": {"content": "x", "timestamp": "2026-05-20T12:00:00Z"}},
}


def _run(program: str, **environment: str) -> str:
    """Run a program in the folder of the functions, and return its output."""
    completed = subprocess.run(
        [sys.executable, "-c", program],
        cwd=FUNCTIONS,
        env={"PATH": "/usr/bin:/bin", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


def test_listing_tools_and_accepting_a_memory_import_neither_embedder_nor_database(tmp_path: Path) -> None:
    heavy = [
        "mcp.client",
        "mcp.server.mcpserver",
        "google.genai",
        "google.cloud.sql.connector",
        "tokenizers",
        "opentelemetry.exporter",
        "mnemosyne.adapters.database.memories",
    ]
    # After INGEST, the database driver pg8000 may be loaded, because the audit trail is written in the background.
    calls = [(LIST, 200, [*heavy, "pg8000"]), (INGEST, 200, heavy)]
    settings = {
        "MNEMOSYNE_INSTANCE_CONNECTION_NAME": "p:r:i",
        "MNEMOSYNE_DB_NAME": "d",
        "MNEMOSYNE_DB_USER": "u",
        "MNEMOSYNE_TOPIC": f"file://{tmp_path}/queue.db",
        "MNEMOSYNE_EMBEDDER": "gemini",
        "MNEMOSYNE_AUTH_MODE": "none",
    }
    assert _run(PROGRAM.format(calls=calls), **settings) == "[]\n[]\n"


def test_mcp_with_oauth_does_not_import_the_authorization_server() -> None:
    heavy = ["authlib", "joserfc", "google.cloud.kms", "mnemosyne.oauth", "mnemosyne.http.auth"]
    settings = {
        "MNEMOSYNE_DATABASE_URL": "postgresql://u@127.0.0.1:9/d",
        "MNEMOSYNE_TOPIC": "projects/p/topics/t",
        "MNEMOSYNE_AUTH_MODE": "oauth",
        "MNEMOSYNE_OAUTH_ISSUER": "https://auth.example",
        "MNEMOSYNE_OAUTH_RESOURCES": "https://memory.example/mcp",
    }
    assert _run(PROGRAM.format(calls=[(LIST, 401, heavy)]), **settings) == "[]\n"


def test_importing_main_imports_no_adapter_and_looks_for_no_plugins_of_pydantic(tmp_path: Path) -> None:
    metadata = tmp_path / "plugin-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[pydantic]\nplugin = plugin:found\n")
    (tmp_path / "plugin.py").write_text("found = None")
    heavy = "google.genai google.cloud.pubsub_v1 google.cloud.sql pg8000 mnemosyne.adapters mcp.server tokenizers"
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import main
print([name for name in {[*heavy.split(), "plugin"]!r} if name in sys.modules])
"""
    assert _run(code) == "[]\n"


DEFERRED = """
import sys
from mnemosyne.app.deferred_packages import defer
defer("package", "package.part", "not_installed")
{use}
print(*sorted(name for name in sys.modules if name.startswith("package")))
"""


@pytest.mark.parametrize(
    ("use", "imported"),
    [
        ("import package.part.leaf", "package package.part package.part.leaf"),
        ("from package.part.leaf import VALUE; assert VALUE == 1", "package package.part package.part.leaf"),
        ("from package import HEAVY; assert HEAVY == 2", "package package.heavy package.part"),
        ("import package; assert package.part.leaf.VALUE == 1", "package package.heavy package.part package.part.leaf"),
        ("import package; assert not hasattr(package, 'nothing')", "package package.heavy package.part"),
    ],
)
def test_the_initialiser_of_a_deferred_package_runs_when_one_of_its_names_is_used(
    use: str, imported: str, tmp_path: Path
) -> None:
    files = {
        "__init__": "from package.heavy import HEAVY",
        "heavy": "HEAVY = 2",
        "part/__init__": "from package.part import leaf\nfrom package.heavy import HEAVY",
        "part/leaf": "VALUE = 1",
    }
    for name, text in files.items():
        file = tmp_path / "package" / f"{name}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n" + DEFERRED.format(use=use)
    assert _run(program).strip() == imported
