"""A process that has imported gcloud, and forks a child for each gcloud command that a test starts.

It runs the code of `fork_server` with the Python that gcloud includes. A gcloud command takes a second, and most of
this time is spent on imports.
"""

import gc
import importlib
import socket
import sys
from contextlib import suppress
from pathlib import Path

from tests.fork_server import PROGRAMS, Server

LIBRARY = Path(sys.executable).parents[3] / "lib"
# Modules that gcloud's commands import only when they need them. Modules that the installed version of gcloud does not
# have are left out.
LATER = (
    "apitools.base.py",
    "googlecloudsdk.api_lib.cloudresourcemanager.organizations",
    "googlecloudsdk.api_lib.storage.api_factory",
    "googlecloudsdk.command_lib.iam.iam_util",
    "googlecloudsdk.command_lib.storage.tasks.task_executor",
    "googlecloudsdk.command_lib.storage.user_request_args_factory",
    "googlecloudsdk.command_lib.util.concepts.concept_parsers",
    "googlecloudsdk.core.credentials.requests",
    "googlecloudsdk.core.credentials.transports",
    "googlecloudsdk.core.document_renderers.render_document",
    "googlecloudsdk.core.universe_descriptor.universe_descriptor",
    "googlecloudsdk.core.updater.update_manager",
)


def load() -> None:
    """Import gcloud, as lib/gcloud.py does."""
    sys.path[:0] = [str(LIBRARY / "third_party"), str(LIBRARY)]
    importlib.import_module("googlecloudsdk.gcloud_main")
    for name in LATER:
        with suppress(ImportError):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()


def run_gcloud(arguments: list[str]) -> None:
    """Run `gcloud`."""
    gcloud = importlib.import_module("googlecloudsdk.gcloud_main")
    sys.argv = [str(LIBRARY / "gcloud.py"), *arguments]
    sys.exit(gcloud.main())


if __name__ == "__main__":
    PROGRAMS["gcloud"] = run_gcloud
    Server(socket.socket(fileno=int(sys.argv[1])), sys.argv[2], load).serve()
