"""Start, watch and stop the whole system on one machine."""

import json
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import fasteners

from mnemosyne.adapters.database.connections import connection_factory
from mnemosyne.adapters.embedders.offline import SPACE
from mnemosyne.cli.local import emulator, functions, postgres, services
from mnemosyne.cli.local.data_dir import DataDir, acquire_now
from mnemosyne.cli.local.functions import LOOPBACK, FunctionProcess
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.domain.principal import LOCAL
from mnemosyne.errors import Misconfigured, Unavailable
from mnemosyne.extras import require_embedder
from mnemosyne.settings import Settings

_LOOPBACK = (LOOPBACK, "localhost", "::1")
NO_AUTHENTICATION: Mapping[str, str] = {"MNEMOSYNE_AUTH_MODE": "none"}
RESTART_SECONDS = 1.0
EXPIRY_SECONDS = 60.0
"""Expired memories are removed once in this number of seconds."""


@dataclass(frozen=True)
class Stack:
    """A running system on one machine: its database, its functions and its URL."""

    url: str
    directory: DataDir
    database: postgres.EmbeddedPostgres
    functions: tuple[FunctionProcess, ...]

    def watch(self, stopping: threading.Event, say: Callable[[str], None]) -> None:
        """Restart the database and functions that have died, until `stopping` is set.

        Also prints log-in codes, and removes expired memories once a minute.
        """
        codes = self.directory.log_in_codes
        printed = codes.stat().st_size if codes.exists() else 0
        expired_at = time.monotonic()
        while not stopping.wait(RESTART_SECONDS):
            printed = _print_codes(codes, printed, say)
            if time.monotonic() - expired_at >= EXPIRY_SECONDS:
                expired_at = time.monotonic()
                from mnemosyne.app.operator import expire_memories  # slow to import

                # If the database is unavailable, do nothing: the next attempt, a minute later, removes the memories.
                with suppress(Unavailable):
                    expire_memories(connection_factory(self.database.url(postgres.OWNER)))
            if not self.database.running:
                say("PostgreSQL had ended; starting it again.")
                try:
                    with fasteners.InterProcessLock(self.directory.starting):
                        postgres.restart(self.database, self.directory)
                except Misconfigured as exc:
                    say(f"It does not start, trying again: {exc}")
            for function in self.functions:
                if not function.running:
                    say(f"The function {function.target} had ended; starting it again.")
                    function.start()


def _print_codes(codes: Path, printed: int, say: Callable[[str], None]) -> int:
    """Print the new log-in codes in the file `codes`: those after its first `printed` bytes, which were printed before.

    Returns the number of bytes, from the beginning of the file, whose codes have now been printed.
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


def environment(
    directory: DataDir,
    database: postgres.EmbeddedPostgres,
    *,
    access: Mapping[str, str] = NO_AUTHENTICATION,
    host: str = LOOPBACK,
) -> dict[str, str]:
    """Return the settings of the functions and commands that work on this directory."""
    on_emulator = bool(os.environ.get("PUBSUB_EMULATOR_HOST"))
    # On other addresses than loopback, allow any Host header. A check of this header is only needed against requests
    # from web pages of other sites. They are refused anyway, because they lack the credential that callers need.
    hosts = {} if host in _LOOPBACK else {"MNEMOSYNE_ALLOWED_HOSTS": "*"}
    return hosts | {
        "MNEMOSYNE_DATABASE_URL": database.url(postgres.RUNTIME_USER),
        "MNEMOSYNE_TOPIC": emulator.TOPIC if on_emulator else f"file://{directory.queue}",
        "MNEMOSYNE_RECEIPT_SIGNING_KEY": f"file://{directory.receipt_keys}",
        **access,
        # With the emulator, set no secret for pushes. Everybody can publish to the emulator, so a secret would
        # protect nothing.
        **({} if on_emulator else {"MNEMOSYNE_PUSH_SECRET": secrets.token_urlsafe(32)}),
        **_embedder_settings(directory, postgres.space(database)),
    }


def _access_settings(directory: DataDir, auth_mode: str, host: str, port: int) -> dict[str, str]:
    """Return the settings of authentication. With OAuth, an authorization server listens on `port` + 1."""
    if auth_mode != "oauth":
        return {"MNEMOSYNE_AUTH_MODE": auth_mode}
    functions.require_free(host, port + 1, "the authorization server, one above --port")
    names = ["localhost", LOOPBACK] if host in _LOOPBACK else [host]
    directory.log_in_codes.touch(mode=0o600)
    return {
        "MNEMOSYNE_AUTH_MODE": auth_mode,
        "MNEMOSYNE_OAUTH_ISSUER": f"http://{names[0]}:{port + 1}",
        "MNEMOSYNE_OAUTH_RESOURCES": ",".join(f"http://{name}:{port}/mcp" for name in names),
        "MNEMOSYNE_OAUTH_SIGNING_KEY": f"file://{directory.signing_keys}",
        "MNEMOSYNE_OAUTH_PEOPLE": json.dumps([{"who": "*", "namespace": LOCAL.namespace}]),
        "MNEMOSYNE_OAUTH_LOG_IN_CODES": str(directory.log_in_codes),
    }


def _embedder_settings(directory: DataDir, space: EmbeddingSpace) -> dict[str, str]:
    """Return the embedder's settings for an embedding space."""
    variables = {"MNEMOSYNE_EMBEDDER": space.provider, "MNEMOSYNE_EMBEDDING_DIMENSION": str(space.dimension)}
    require_embedder(space.provider)
    match space.provider:
        case "offline":
            return variables | {"MNEMOSYNE_OFFLINE_STATISTICS": str(directory.statistics)}
        case "multilingual":
            return variables | {"OMP_WAIT_POLICY": "passive"}  # idle threads of OpenMP then use no CPU time
    return variables | {"MNEMOSYNE_EMBEDDING_MODEL": space.model}


@contextmanager
def database(directory: DataDir, space: EmbeddingSpace | None = None) -> Iterator[postgres.EmbeddedPostgres]:
    """Yield the migrated database of the directory. At the end, stop the database if no other process uses it.

    A new database is created for the embedding space `space`. Raises Misconfigured if an existing database has another
    space.
    """
    with fasteners.InterProcessLock(directory.starting):  # prevent two processes from starting the database at once
        server = postgres.start(directory)
        try:
            postgres.prepare(server, space or SPACE)
            current = postgres.space(server)
            if space not in (None, current):
                raise Misconfigured(
                    f"the memories in {directory.path} were embedded by {current}, not by {space}",
                    next_step="leave --embedder out, or choose another --data-dir",
                )
        except BaseException:
            server.stop()
            raise
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def full_stack(
    directory: DataDir, *, host: str, port: int, auth_mode: str = "none", space: EmbeddingSpace | None = None
) -> Iterator[Stack]:
    """Yield the whole system, ready to serve. Raises Misconfigured if it cannot start."""
    functions.require_free(host, port, "the MCP endpoint")
    with ExitStack() as exits:
        _lock_directory(directory, exits)
        directory.address.unlink(missing_ok=True)  # the file exists if an earlier `dev` was killed
        access = _access_settings(directory, auth_mode, host, port)
        directory.access.write_text(json.dumps(access))
        server = exits.enter_context(database(directory, space))
        settings = environment(directory, server, access=access, host=host)

        def process(target: str, port: int) -> FunctionProcess:
            own_settings = settings | services.login(target, server)
            return FunctionProcess(target, host=host, port=port, environment=own_settings, directory=directory)

        mcp = process("mcp", port)
        others = [process("auth", port + 1)] if auth_mode == "oauth" else []
        started = services.serve(directory, settings, server, exits, mcp, *others)
        directory.address.write_text(f"{mcp.url}/mcp")
        exits.callback(directory.address.unlink, missing_ok=True)
        yield Stack(url=f"{mcp.url}/mcp", directory=directory, database=server, functions=started)


@contextmanager
def ingest_stack(directory: DataDir) -> Iterator[Settings]:
    """Run the database and the function `ingest`, and yield the settings with which this process uses them."""
    with ExitStack() as exits:
        server = exits.enter_context(database(directory))
        variables = environment(directory, server, access=_access_of_dev(directory))
        if is_served(directory):
            yield Settings.from_environment({**os.environ, **variables})
            return
        started = services.serve(directory, variables, server, exits)
        stopping = threading.Event()
        system = Stack(url="", directory=directory, database=server, functions=started)
        watching = threading.Thread(target=system.watch, args=(stopping, lambda message: None), daemon=True)
        watching.start()
        exits.callback(watching.join)
        exits.callback(stopping.set)
        yield Settings.from_environment({**os.environ, **variables})


@contextmanager
def reading_stack(directory: DataDir) -> Iterator[Settings]:
    """Run the database, and yield the settings with which this process uses it.

    This process runs no function, so it does not store the messages in the queue.
    """
    with database(directory) as server:
        variables = environment(directory, server, access=_access_of_dev(directory))
        yield Settings.from_environment({**os.environ, **variables})


def dev_runs(directory: DataDir) -> bool:
    """Return whether a `mnemosyne dev` runs, starts or stops on this directory."""
    lock = fasteners.InterProcessLock(directory.lock)
    if not acquire_now(lock):
        return True
    lock.release()
    return False


def _access_of_dev(directory: DataDir) -> Mapping[str, str]:
    """Return the authentication settings of the `dev` that runs on the directory.

    If no `dev` runs, return the settings for no authentication.
    """
    if not directory.access.exists() or not dev_runs(directory):
        return NO_AUTHENTICATION
    access: dict[str, str] = json.loads(directory.access.read_text())
    return access


def is_served(directory: DataDir) -> bool:
    """Whether a `dev` on this directory already receives the Pub/Sub emulator's messages.

    Raises Misconfigured if the emulator delivers to another system.
    """
    host = os.environ.get("PUBSUB_EMULATOR_HOST")
    if not host or not emulator.is_served(host):
        return False
    if dev_runs(directory):
        return True
    raise Misconfigured(
        f"the Pub/Sub emulator at {host} delivers to another system than {directory.path}",
        next_step="give the directory of the other system with --data-dir, stop that system, or unset "
        "PUBSUB_EMULATOR_HOST",
    )


def _lock_directory(directory: DataDir, exits: ExitStack) -> None:
    lock = fasteners.InterProcessLock(directory.lock)
    deadline = time.monotonic() + 2
    while not acquire_now(lock):
        if time.monotonic() > deadline:
            raise Misconfigured(
                f"another `mnemosyne dev` runs on {directory.path}", next_step="stop it, or choose another --data-dir"
            )
        time.sleep(0.05)
    exits.callback(lock.release)
