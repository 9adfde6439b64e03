"""A process that has imported the functions, and forks a child for each function that a test starts.

Starting Python and importing the functions takes two seconds of CPU time, a fork takes hundredths of one. Requests are
lines of JSON on standard input, with the child's arguments, environment and log; each is answered with the child's
process id. The children get SIGTERM when standard input ends.
"""

import ctypes
import gc
import importlib
import json
import os
import pkgutil
import signal
import sys
import traceback
from pathlib import Path
from typing import Any, NoReturn

import functions_framework
import functions_framework._cli
import functions_framework._http.gunicorn

LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1
CLOCK = Path(__file__).parent / "clock" / "sitecustomize.py"
PACKAGES = ("adapters", "app", "domain", "http", "mcp", "oauth", "service")
# Imported by our modules when they are first needed.
LATER = (
    "google.api_core.exceptions",
    "google.auth.transport.requests",
    "google.cloud.pubsub_v1",
    "google.cloud.sql.connector",
    "google.genai.types",
    "gunicorn.arbiter",
    "numpy",
    "requests",
    "starlette.routing",
    "uvicorn.lifespan.on",
    "uvicorn.protocols.http.auto",
    "uvicorn.protocols.http.httptools_impl",
    "uvicorn_worker",
    "yaml",
)


def load() -> None:
    """Import every module that a function imports."""
    import mnemosyne

    (root,) = mnemosyne.__path__
    for package in PACKAGES:
        for module in pkgutil.walk_packages([f"{root}/{package}"], f"mnemosyne.{package}."):
            if module.name != "mnemosyne.app.functions":  # the framework imports it by its path
                importlib.import_module(module.name)
    for name in LATER:
        importlib.import_module(name)


def serve(request: dict[str, Any]) -> NoReturn:
    """Become the process of a function: `python -m functions_framework` with these arguments."""
    os.setsid()
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    log = os.open(request["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, source in enumerate((nothing, log, log)):
        os.dup2(source, number)
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["functions_framework", *request["arguments"]]
    code = 1
    try:
        if "CLOCK_AHEAD_FILE" in os.environ:
            exec(compile(CLOCK.read_text(), CLOCK, "exec"), {"__name__": "sitecustomize", "__file__": str(CLOCK)})  # noqa: S102
        functions_framework._cli._cli(standalone_mode=False)
        code = 0
    except SystemExit as exc:
        code = exc.code if isinstance(exc.code, int) else 1
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main() -> None:
    """Fork a child for each request."""
    load()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel removes ended children
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            serve(json.loads(line))
        print(pid, flush=True)


if __name__ == "__main__":
    main()
