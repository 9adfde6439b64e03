"""Erasure in `mnemosyne dev`: no file of its data directory has a forgotten text, whichever way the text came in."""

import subprocess
from pathlib import Path

from mnemosyne.adapters.database.connections import connection_factory
from mnemosyne.cli.local import postgres
from mnemosyne.cli.local.data_dir import DataDir
from tests.dev import COMMAND, DevServer, serving
from tests.forks import REAL
from tests.integration.test_erasure import CANARY, files_with_the_canary
from tests.mcp_client import TIMESTAMP

NOTE = f"---\ntags: [zoo]\n---\n# {CANARY} note\n\nA note about a {CANARY}.\n"


def _run(server: DevServer, *command: str) -> str:
    arguments = [str(COMMAND), *command, "--data-dir", str(server.directory / "data")]
    completed = subprocess.run(arguments, capture_output=True, text=True, timeout=300, check=False)
    assert completed.returncode == 0, completed.stdout + completed.stderr
    return completed.stdout


def _store_in_every_way(server: DevServer, directory: Path) -> None:
    """Store the canary by tools, by commands and from files, each time with the tag `zoo`."""
    memory_id = server.remember(f"A {CANARY} by a tool", tags=["zoo"], session=f"{CANARY} session")
    server.call("update_memory", {"id": memory_id, "title": f"{CANARY} title"})
    server.call("update_memory", {"id": memory_id, "title": "another title"})
    server.call("rate_memory", {"id": memory_id, "rating": 1, "reason": f"{CANARY} reason"})
    lines = f'{{"content": "A {CANARY} of a file", "tags": ["zoo"], "timestamp": "{TIMESTAMP}"}}\n'
    imported = server.call("import_memories", {"name": "lines.jsonl", "text": lines})
    server.outcomes(imported["request_ids"])
    (directory / "note.md").write_text(NOTE)
    (directory / "lines.jsonl").write_text(lines.replace("of a file", "of another file"))
    for name in ("note.md", "lines.jsonl"):
        _run(server, "import", str(directory / name), "--namespace", "default")
    _run(server, "remember", f"A {CANARY} by a command", "--tag", "zoo")


def _rewrite(directory: Path) -> None:
    """Write all pages of the database without unused space."""
    server = postgres.start(DataDir.at(str(directory)))
    try:
        owner = connection_factory(server.url(postgres.OWNER), socket_timeout=None, statement_seconds=0)()
        owner.script("VACUUM FULL")
        owner.script("CHECKPOINT")
        owner.close()
    finally:
        server.stop()


def test_no_file_has_a_forgotten_text(tmp_path: Path) -> None:
    # A fork ends without closing the files of its queue, so `queue.db-wal` would remain.
    with serving(command=REAL) as server:
        data = server.directory / "data"
        _store_in_every_way(server, tmp_path)
        assert server.call("memory_facets", {"prefix": "zoo"})["tags"][0]["memories"] == 5
        assert files_with_the_canary(data)
        _run(server, "forget", "--namespace", "default", "--tag", "zoo", "--yes")
        assert "5 memories  finished" in _run(server, "receipt", "list")
        server.stop()
        _rewrite(data)
        assert [file for file in files_with_the_canary(data) if not file.startswith("postgres/pg_wal/")] == []
