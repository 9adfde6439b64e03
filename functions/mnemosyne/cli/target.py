"""The options --url, --data-dir and --project, which choose the system that a command works on.

Without an option, a command works on the system that the settings in the environment name. Without settings, it works
on the local system in the user's data directory. A missing system is an error, and is not created.
"""

import functools
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click

from mnemosyne.cli.open_services import data_directory, settings_of_a_system
from mnemosyne.cli.options import options, text_option
from mnemosyne.cli.terminal import say
from mnemosyne.cli.tool_client import ToolClient
from mnemosyne.errors import InvalidRequest, Misconfigured
from mnemosyne.settings import unknown_variables

URL, DATA_DIR, PROJECT = "url", "data_dir", "project"
_NAMES = {URL: "--url URL", DATA_DIR: "--data-dir DIR", PROJECT: "--project PROJECT"}
SETTINGS = "a deployment's settings in the environment"
_HELP = {
    URL: "Work on the server at this address; its key is MNEMOSYNE_TOKEN.",
    DATA_DIR: "Work on the local system in this directory.",
    PROJECT: "Work on the deployment in this project; needs gcloud.",
}
_SUBJECT = re.compile(r"(?P<before>^(?:\w+: )?|; )(?P<name>\w+)(?:\[\d+\])?(?= must | ')")
"""Pattern of the beginning of an error: an argument, or a tool and an argument, as in `memory_search: tags[0] must …`.
A semicolon separates two errors in one message."""
_PARAMETERS = {"content": "text", "time_expr": "when", "id": "key_id"}
"""Arguments of tools and operations whose command-line parameter has another name: the name of the argument, and the
name of the parameter."""
Command = Callable[..., None]
_deployment_options = options(
    text_option("--region", default="europe-west1", show_default=True, help="Its region, with --project."),
    text_option("--deployment", default="mnemosyne", show_default=True, help="Its name, with --project."),
)
"""The options that choose a deployment in the project that --project names."""


def target(*ways: str, by_settings: bool = True) -> Callable[[Command], Command]:
    """Return a decorator that adds the options for a command's target (the system that the command works on).

    The decorated command checks the values of these options. `ways` are the options that the command supports and
    `--help` shows. An option that is not in `ways` is an error, which names the supported options. Two options together
    are also an error. If `by_settings` is false, the command does not support the system that the settings in the
    environment name. Then it is an error if the environment has such settings and the user gives no option.

    In errors about arguments of tools and operations, the names of the arguments are replaced by the command's options.

    If neither an option nor the settings name a target, the target is the local system in the user's data directory.
    The command raises Misconfigured if it does not support local systems, or if there is no such system.
    """

    usable = [*(_NAMES[way] for way in ways), *([SETTINGS] if by_settings else [])]

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def checked(*, url: str | None, data_dir: str | None, project: str | None, **options: Any) -> None:
            values = {URL: url, DATA_DIR: data_dir, PROJECT: project}
            context = click.get_current_context()
            _check_target(context, values, usable)
            try:
                command(**options, **{way: values[way] for way in ways})
            except InvalidRequest as exc:
                error = _with_options(exc, context.command)
                if error is exc:
                    raise
                raise error from exc

        decorated: Command = _deployment_options(checked) if PROJECT in ways else checked
        for way in reversed(_NAMES):
            option, metavar = _NAMES[way].split()
            decorated = click.option(option, metavar=metavar, hidden=way not in ways, help=_HELP[way])(decorated)
        return decorated

    return decorate


def _with_options(error: InvalidRequest, command: click.Command) -> InvalidRequest:
    """Return the error with the command's options in place of the tool's arguments, such as `--tag` for `tags[0]`.

    An error that names no argument is returned unchanged.
    """
    if type(error) is not InvalidRequest:
        return error
    names = {
        parameter.name: parameter.opts[0] if isinstance(parameter, click.Option) else parameter.human_readable_name
        for parameter in command.params
    }

    def replaced(subject: re.Match[str]) -> str:
        name = names.get(_PARAMETERS.get(subject["name"], subject["name"]))
        return f"{subject['before'] if subject.start() else ''}{name}" if name else subject[0]

    text = _SUBJECT.sub(replaced, str(error))
    return error if text == str(error) else InvalidRequest(text)


def target_arguments(target_values: Mapping[str, str | None]) -> str:
    """Return the options that another command needs to work on the same system (the target) as this command.

    In the result, a space precedes each option.
    """
    names = (DATA_DIR, *((PROJECT, "region", "deployment") if target_values[PROJECT] else ()))
    return "".join(
        f" --{name.replace('_', '-')} {shlex.quote(value)}" for name in names if (value := target_values.get(name))
    )


def _check_target(context: click.Context, values: dict[str, str | None], usable: list[str]) -> None:
    """Check that the options or the environment name exactly one target, and that the command supports it.

    Raises UsageError or Misconfigured.
    """
    ways = [way for way, value in values.items() if value is not None]
    options = [_NAMES[way].split()[0] for way in ways]
    if len(ways) > 1:
        raise click.UsageError(f"give only one of --url, --data-dir and --project, got {' and '.join(options)}")
    if ways and _NAMES[ways[0]] not in usable:
        raise click.UsageError(f"`{context.command_path}` does not work with {options[0]}: use {' or '.join(usable)}")
    if ways and not values[ways[0]]:
        raise click.UsageError(f"{options[0]} must not be empty: give {_NAMES[ways[0]]}")
    if (url := values[URL]) and not url.lower().startswith(("http://", "https://")):
        raise click.UsageError(f"--url must begin with http:// or https://, got {url!r}")
    if not ways:
        _check_without_option(context, usable)


def _check_without_option(context: click.Context, usable: list[str]) -> None:
    if unknown := unknown_variables():  # a misspelt variable would silently change the target
        say(f"Note: unknown settings in the environment: {', '.join(unknown)}. Correct or remove them.", err=True)
    if settings := settings_of_a_system():
        if SETTINGS not in usable:
            raise click.UsageError(
                f"`{context.command_path}` does not work with {SETTINGS}, and {', '.join(settings)} is set: "
                f"use {' or '.join(usable)}"
            )
        return
    if _NAMES[DATA_DIR] not in usable:
        raise Misconfigured(
            f"no target is named: `{context.command_path}` needs {' or '.join(usable)}; the settings must "
            "include MNEMOSYNE_DATABASE_URL or MNEMOSYNE_INSTANCE_CONNECTION_NAME"
        )
    from mnemosyne.cli.local.data_dir import DataDir

    if problem := DataDir.missing_system_message(None):
        has_token = os.environ.get("MNEMOSYNE_TOKEN") and _NAMES[URL] in usable
        hint = "; MNEMOSYNE_TOKEN is set, so --url may be missing" if has_token else ""
        raise Misconfigured(
            f"no target is named, and {problem}: start one with `mnemosyne dev`, or give {' or '.join(usable)}{hint}"
        )


@contextmanager
def tools_address(url: str | None, data_dir: str | None, *, stores: bool = False) -> Iterator[str]:
    """Yield the URL of a server: `url` or, without `url`, the URL of a local system.

    The local system is in `data_dir` or, without `data_dir`, in the user's data directory. A stopped system is started.
    If `stores` is true (the command stores memories), a missing system in `data_dir` is created. In all other cases, a
    missing system raises Misconfigured.
    """
    if url is not None:
        yield url
        return
    directory = data_directory(data_dir, stores)
    from mnemosyne.cli.local.tools import tools_url

    with tools_url(directory, stores=stores) as address:
        yield address


@contextmanager
def tool_client(url: str | None, data_dir: str | None, *, stores: bool = False) -> Iterator[ToolClient]:
    """Yield a client of a server. `tools_address` yields the URL of the server for the same arguments."""
    with tools_address(url, data_dir, stores=stores) as address:
        yield ToolClient(address)
