"""Write the sum of the migrations as one file: `python -m mnemosyne_cli.local.schema > infra/schema.sql`."""

import subprocess
import sys
import tempfile

from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne_cli.local import postgres
from mnemosyne_cli.local.data_dir import DataDir

CLOUD_SPACE = EmbeddingSpace("gemini", "gemini-embedding-001", 768)
HEADER = """\
-- The schema as all migrations together leave it, for reading. Made by `make schema`; a test proves it is true.

"""


def dump(server: postgres.EmbeddedPostgres, database: str) -> str:
    """Return the database's schema as SQL, without comments, session settings and owners."""
    program = server.server.bin_path / "pg_dump"
    printed = subprocess.run(
        [program, "--schema-only", "--no-owner", server.url(postgres.OWNER, database)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    kept = [
        line
        for line in printed.splitlines()
        if line and not line.startswith(("--", "SET ", "\\", "SELECT pg_catalog.set_config"))
    ]
    return HEADER + "\n".join(kept) + "\n"


def main() -> None:
    """Print the schema of a fresh database."""
    with tempfile.TemporaryDirectory() as directory:
        server = postgres.start(DataDir.at(directory))
        try:
            postgres.prepare(server, CLOUD_SPACE)
            sys.stdout.write(dump(server, postgres.DATABASE))
        finally:
            server.stop()


if __name__ == "__main__":
    main()
