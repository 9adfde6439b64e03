"""Temporary folders for the files of PostgreSQL servers, in memory if there is room."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MEMORY = Path("/dev/shm")
ROOM = 4 * 1024**3
# Waits until the test process closes its end of the pipe, which happens however that process ends.
_CLEAN = """
cat
for file in "$0"/*/postmaster.pid; do
    if [ -e "$file" ]; then kill -QUIT "$(head -n 1 "$file")"; fi
done
rm -rf "$0" 2>/dev/null || { sleep 1; rm -rf "$0"; }
"""


@contextmanager
def server_directory() -> Iterator[Path]:
    """Yield a folder for one server, and remove it afterwards, even if this process is killed while the server runs.

    The folder is in memory if there is room: a database has about 300 files, and creating and dropping one takes a
    fifth of the time there.
    """
    room = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM
    directory = tempfile.mkdtemp(prefix="mnemosyne-test-", dir=MEMORY if room else None)
    cleaner = subprocess.Popen(
        ["sh", "-c", _CLEAN, directory],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield Path(directory)
    finally:
        cleaner.communicate()
