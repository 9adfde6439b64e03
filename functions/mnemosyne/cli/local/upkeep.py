"""Tasks that `mnemosyne dev` repeats while it runs."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from mnemosyne.adapters.database.change_feed import ChangeFeeds
from mnemosyne.adapters.database.connections import connection_factory
from mnemosyne.adapters.database.retention import Retention
from mnemosyne.cli.local import postgres
from mnemosyne.errors import Unavailable


def remove_expired(database: postgres.EmbeddedPostgres) -> None:
    """Remove expired memories and old events of change feeds.

    If the database does not respond, do nothing: the next run removes the same rows.
    """
    connect = connection_factory(database.url(postgres.OWNER))
    retention, feeds = Retention(connect), ChangeFeeds(connect)
    with suppress(Unavailable):
        for _ in retention.remove_all_expired():
            pass
        while feeds.remove_old():
            pass


def print_codes(codes: Path, printed: int, say: Callable[[str], None]) -> int:
    """Print the log-in codes after the first `printed` bytes of the file.

    Returns the number of bytes that are printed by now.
    """
    if not codes.exists():
        return printed
    with codes.open("rb") as file:
        file.seek(printed)
        new = file.read()
    complete_lines = new[: new.rfind(b"\n") + 1]
    for line in complete_lines.decode(errors="replace").splitlines():
        code, _, client = line.partition(" ")
        say(f"Log-in code for {client}: {code}")
    return printed + len(complete_lines)
