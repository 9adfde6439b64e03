"""`mnemosyne dev`: run the whole system on this machine."""

import os
import shlex
import signal
import threading
import time
from types import FrameType

import click

from mnemosyne.app.container import embedding_space
from mnemosyne.cli.clients import command, how_to_connect
from mnemosyne.cli.open_services import settings_of_a_system
from mnemosyne.cli.options import DIRECTORY, text_option
from mnemosyne.cli.terminal import on_termination, say
from mnemosyne.domain.embedding_space import PROVIDERS, EmbeddingSpace
from mnemosyne.errors import Misconfigured
from mnemosyne.extras import require_embedder
from mnemosyne.observability import configure_logging
from mnemosyne.settings import Settings, variable

LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")


@click.command()
@text_option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to serve on; other than loopback only with authentication.",
)
@click.option("--port", default=8080, show_default=True, type=click.IntRange(1, 65535), help="Port to serve on.")
@DIRECTORY
@click.option(
    "--auth-mode",
    default="none",
    show_default=True,
    type=click.Choice(["none", "api_key", "oauth"]),
    help="How callers authenticate.",
)
@click.option(
    "--embedder",
    type=click.Choice(["offline", "multilingual", "gemini"]),
    help="The embedder of a new directory [default: offline, for English]. An existing directory keeps its own.",
)
def dev(host: str, port: int, data_dir: str | None, auth_mode: str, embedder: str | None) -> None:
    """Run the whole system on this machine until Ctrl-C. The memories are kept for the next start."""
    if host not in LOOPBACK_HOSTS and auth_mode == "none":
        raise Misconfigured(
            f"--host must be one of {', '.join(LOOPBACK_HOSTS)}, got {host}: anybody could read everything. "
            "With --auth-mode api_key any host is accepted"
        )
    # Import these modules here, because they need the extra `local`, and `--help` must work without it.
    from mnemosyne.cli.local import functions, stack
    from mnemosyne.cli.local.data_dir import DataDir, is_root

    if auth_mode == "oauth" and functions.is_wildcard(host):
        raise Misconfigured(
            f"--host must be a name or address that clients connect to, got {host}: with --auth-mode oauth it is in "
            "every token"
        )
    space = _space_of_embedder(embedder)
    serving, stopping = threading.Event(), threading.Event()
    _stop_on_signals(serving, stopping)
    started = time.monotonic()
    directory = DataDir.at(data_dir)
    configure_logging("INFO", directory.log("delivery").open("a"))
    say(f"Mnemosyne is starting on {directory.path} …")
    if is_root():
        say("Running as root: PostgreSQL runs as the system user pgserver, because it refuses to run as root.")
    try:
        with stack.full_stack(directory, host=host, port=port, auth_mode=auth_mode, space=space) as system:
            say(f"Ready after {time.monotonic() - started:.1f} s.\n")
            if auth_mode != "none":
                make = f"{command()} keys create --name NAME --data-dir {shlex.quote(str(directory.path))}"
                say(f"{_HOW_CALLERS_AUTHENTICATE[auth_mode]}: {make}\n")
            is_default = directory.is_default and not settings_of_a_system()
            say(how_to_connect(system.url, str(directory.path), auth_mode=auth_mode, is_default=is_default))
            if urls := functions.other_urls(host, port):
                say(f"Other machines reach it at {', '.join(f'{url}/mcp' for url in urls)}\n")
            serving.set()
            system.watch(stopping, say)
            say("\nStopping …")
    except _Interrupted:
        say("\nStopped.")
        return
    say("Stopped. The memories stay in " + str(directory.path))


def _space_of_embedder(embedder: str | None) -> EmbeddingSpace | None:
    if embedder is None:
        return None
    provider = PROVIDERS[embedder]
    require_embedder(embedder)
    if provider.is_local:
        return EmbeddingSpace(embedder, provider.model, provider.dimension)
    if not any(os.environ.get(name) for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI")):
        raise Misconfigured("--embedder gemini needs GEMINI_API_KEY, or GOOGLE_GENAI_USE_VERTEXAI=true and a project")
    names = ("embedding_model", "embedding_dimension")
    variables = {name: value for name in map(variable, names) if (value := os.environ.get(name))}
    placeholders = {variable("database_url"): "postgresql://nobody@/nowhere", variable("topic"): "file:///nowhere"}
    return embedding_space(Settings.from_environment({**placeholders, **variables, variable("embedder"): "gemini"}))


_HOW_CALLERS_AUTHENTICATE = {
    "api_key": "Callers need an API key, mnk_…",
    "oauth": "Clients log in in a browser, with a code that is printed here. Commands need an API key, mnk_…",
}


class _Interrupted(BaseException):
    """Raised at the second signal to stop the system, or at the first one if the system is still starting.

    It is not a subclass of Exception, so that no `except Exception` catches it and only clean-up code runs.
    """


def _stop_on_signals(serving: threading.Event, stopping: threading.Event) -> None:
    def stop(number: int, frame: FrameType | None) -> None:
        if not serving.is_set() or stopping.is_set():
            raise _Interrupted
        stopping.set()

    signal.signal(signal.SIGINT, stop)
    on_termination(stop)
