"""Name the command's own options in errors about the arguments of tools and operations."""

import re

import click

from mnemosyne.errors import InvalidRequest

_SUBJECT = re.compile(r"(?P<before>^(?:\w+: )?|; )(?P<name>\w+)(?:\[\d+\])?(?= must | ')")
"""Beginning of an error: perhaps the tool, then the argument, such as `memory_search: tags[0] must have …`. A further
error follows after a semicolon."""
_PARAMETERS = {"content": "text", "time_expr": "when", "id": "key_id"}
"""Parameter of a command for each tool argument with another name."""


def with_options(error: InvalidRequest, command: click.Command) -> InvalidRequest:
    """Return the error with the names of the command's options in place of the arguments, `--tag` for `tags[0]`.

    An error about something else is returned unchanged.
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
