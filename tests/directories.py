"""Temporary folders for the files of PostgreSQL servers, in memory if there is room."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MEMORY = Path("/dev/shm")
ROOM = 4 * 1024**3
# A shell script that waits until its standard input ends, then ends the server of the folder and removes the folder.
# The input is a pipe from the test process, so it ends in every case, even if the test process is killed.
#
# The script reads the folder from the first line of its input. The folder must not be in the script's command line,
# because tests count the processes whose command line contains the folder.
_CLEAN = """
read -r folder
cat
for file in "$folder"/*/postmaster.pid "$folder"/*/*/postmaster.pid; do
    if [ -e "$file" ]; then kill -QUIT "$(head -n 1 "$file")"; fi
done
rm -rf "$folder" 2>/dev/null || { sleep 1; rm -rf "$folder"; }
"""


@contextmanager
def server_directory() -> Iterator[Path]:
    """Yield a folder for one server, and remove it afterwards, even if this process is killed while the server runs.

    The folder is in memory if there is room. A database has about 300 files, and creating and dropping a database takes
    only a fifth of the time in memory.
    """
    room = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM
    directory = tempfile.mkdtemp(prefix="mnemosyne-test-", dir=MEMORY if room else None)
    cleaner = subprocess.Popen(
        ["sh", "-c", _CLEAN],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        text=True,
    )
    assert cleaner.stdin
    cleaner.stdin.write(f"{directory}\n")
    cleaner.stdin.flush()
    try:
        yield Path(directory)
    finally:
        cleaner.communicate()
