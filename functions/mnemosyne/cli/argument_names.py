"""Name the command's own options in errors about the arguments of tools and operations."""

import re

import click

from mnemosyne.errors import InvalidRequest

_SUBJECT = re.compile(r"(?:\w+: )?(?P<name>\w+)(?:\[\d+\])?(?= must | ')")
"""Beginning of an error: perhaps the tool, then the argument, such as `memory_search: tags[0] must have …`."""
_PARAMETERS = {"content": "text", "time_expr": "when", "id": "key_id"}
"""Parameter of a command for each tool argument with another name."""


def with_options(error: InvalidRequest, command: click.Command) -> InvalidRequest:
    """Return the error with the name of the command's option in place of the argument, `--tag` in place of `tags[0]`.

    An error about something else is returned unchanged.
    """
    subject = _SUBJECT.match(str(error))
    if type(error) is not InvalidRequest or subject is None:
        return error
    name = _PARAMETERS.get(subject["name"], subject["name"])
    for parameter in command.params:
        if parameter.name == name:
            shown = parameter.opts[0] if isinstance(parameter, click.Option) else parameter.human_readable_name
            return InvalidRequest(f"{shown}{str(error)[subject.end() :]}")
    return error
