"""The options that say which system a command works on: `--url`, `--data-dir` or `--project`."""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from mnemosyne_cli.open_services import data_directory
from mnemosyne_cli.tool_client import DEFAULT_URL, ToolClient

URL, DATA_DIR, PROJECT = "url", "data_dir", "project"
_NAMES = {URL: "--url URL", DATA_DIR: "--data-dir DIR", PROJECT: "--project PROJECT"}
SETTINGS = "a deployment's settings in the environment"
_HELP = {
    URL: "Work on the server at this address; its key is MNEMOSYNE_TOKEN.",
    DATA_DIR: "Work on the local system in this directory.",
    PROJECT: "Work on the deployment in this project; needs gcloud.",
}
Command = Callable[..., None]


def target(*ways: str, by_settings: bool = True) -> Callable[[Command], Command]:
    """Add the options that name a target, and pass on those that the command works with.

    All commands know all three options. Those in `ways` are shown in `--help`; another one is a usage error that names
    what works instead. So is more than one. `by_settings` says whether the settings in the environment can name the
    target, too.
    """

    usable = [*(_NAMES[way] for way in ways), *([SETTINGS] if by_settings else [])]

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def checked(*, url: str | None, data_dir: str | None, project: str | None, **options: Any) -> None:
            given = {URL: url, DATA_DIR: data_dir, PROJECT: project}
            _check(click.get_current_context(), [way for way in given if given[way] is not None], usable)
            command(**options, **{way: given[way] for way in ways})

        if PROJECT in ways:
            checked = click.option(
                "--deployment", default="mnemosyne", show_default=True, help="Its name, with --project."
            )(checked)
            checked = click.option(
                "--region", default="europe-west1", show_default=True, help="Its region, with --project."
            )(checked)
        for way in reversed(_NAMES):
            option, metavar = _NAMES[way].split()
            checked = click.option(option, metavar=metavar, hidden=way not in ways, help=_HELP[way])(checked)
        return checked

    return decorate


def _check(context: click.Context, given: list[str], usable: list[str]) -> None:
    options = [_NAMES[way].split()[0] for way in given]
    if len(given) > 1:
        raise click.UsageError(f"give only one of --url, --data-dir and --project, got {' and '.join(options)}")
    if given and _NAMES[given[0]] not in usable:
        raise click.UsageError(f"`{context.command_path}` does not work with {options[0]}: use {' or '.join(usable)}")


@contextmanager
def tool_client(url: str | None, data_dir: str | None, *, make: bool = False) -> Iterator[ToolClient]:
    """Yield a client of the server at the address, or of the local system in the directory, started if need be.

    Without either, of `mnemosyne dev` at its default address. Raises Misconfigured where the directory has no memory
    and none is to be made.
    """
    if data_dir is None:
        yield ToolClient(url or DEFAULT_URL)
        return
    directory = data_directory(data_dir, make)
    from mnemosyne_cli.local import stack

    with stack.tools_url(directory) as address:
        yield ToolClient(address)
