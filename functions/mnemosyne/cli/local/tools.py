"""The URL at which the tools of a local system are served."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from mnemosyne.cli.local import services, stack
from mnemosyne.cli.local.data_dir import DataDir
from mnemosyne.errors import Unavailable

START_SECONDS = 60.0
"""Seconds for which a command waits for a `mnemosyne dev` that is starting."""
POLL_SECONDS = 0.1


@contextmanager
def tools_url(directory: DataDir, *, stores: bool) -> Iterator[str]:
    """Yield the URL of the `mnemosyne dev` that runs on the directory. If none runs, start a server.

    The server runs until the `with` block ends.

    `stores` must be true if the command stores memories. If `stores` is false, the function `ingest` is started only if
    messages wait in the queue, because its start takes a second. Several processes can serve one directory at the same
    time. So commands do not wait for each other, and a `dev` can start while a command runs. Raises Unavailable if a
    starting `dev` is not ready within START_SECONDS.
    """
    if url := _url_of_dev(directory):
        yield url
        return
    stack.is_served(directory)  # raises Misconfigured if the Pub/Sub emulator delivers to another system
    with ExitStack() as exits:
        server = exits.enter_context(stack.database(directory))
        settings = stack.environment(directory, server)
        mcp = services.new_process("mcp", directory, settings, server)
        if stores or services.may_wait(directory):
            services.serve(directory, settings, server, exits, mcp)
        else:
            services.start((mcp,), exits)
        yield f"{mcp.url}/mcp"


def _url_of_dev(directory: DataDir) -> str | None:
    """Return the URL of the `dev` that runs on the directory, once it is ready; None if none runs."""
    deadline = time.monotonic() + START_SECONDS
    while stack.dev_runs(directory):
        with suppress(FileNotFoundError):
            return directory.address.read_text()
        if time.monotonic() > deadline:
            raise Unavailable(
                f"`mnemosyne dev` is starting on {directory.path}", next_step="try again once it says Ready"
            )
        time.sleep(POLL_SECONDS)
    return None
