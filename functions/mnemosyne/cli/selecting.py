"""The options that select memories, for `mnemosyne forget` and `mnemosyne holds`."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

import click

from mnemosyne.cli.options import NAMESPACE, options, refuse_empty, text_option
from mnemosyne.cli.times import machine_zone, timezone_option
from mnemosyne.domain.time.window import bounds
from mnemosyne.errors import InvalidRequest

_METADATA: Final = "PATH=VALUE"


def _refuse_commas(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse an empty tag, and a tag with a comma. This is a callback for click.

    A comma may separate two tags or belong to one tag. If the command guessed wrong, `holds` would protect too few
    memories, or `forget` would delete too many.
    """
    for value in refuse_empty(context, parameter, values):
        if "," in value:
            raise click.BadParameter(
                f"must be one tag, got {value[:60]!r}: repeat --tag for each; if the tag itself has a comma, use --id"
            )
    return values


selection_options: Final = options(
    NAMESPACE,
    click.option("--id", "ids", multiple=True, type=click.UUID, help="Memories with these ids; repeat for several."),
    click.option(
        "--tag",
        "tags",
        multiple=True,
        callback=_refuse_commas,
        help="Memories with one of these tags; repeat for several.",
    ),
    text_option("--session", help="Memories of this session."),
    text_option("--after", metavar="DATE", help="Memories from this time on: YYYY-MM-DD, RFC 3339 or a local time."),
    text_option("--before", metavar="DATE", help="Memories until this time, inclusive."),
    timezone_option(machine_zone, help="Time zone of dates; an IANA name."),
    text_option(
        "--metadata", multiple=True, metavar=_METADATA, help="Memories with all of this metadata; repeat for several."
    ),
    click.option("--all", "everything", is_flag=True, help="All memories of the namespace."),
)
"""The options that select memories of a namespace."""


def selection(
    namespace: str,
    ids: Sequence[UUID],
    tags: Sequence[str],
    session: str | None,
    after: str | None,
    before: str | None,
    timezone: str,
    metadata: Sequence[str],
    everything: bool,
) -> dict[str, Any]:
    """Convert the values of `selection_options` to the arguments of an operation that selects memories.

    An option that the user has not given is left out.
    """
    if sum((bool(ids), bool(tags or session or after or before or metadata), everything)) != 1:
        raise click.UsageError("give either --id, or --tag, --session, --after, --before and --metadata, or --all")
    window = bounds(after, before, timezone=timezone, names=("--after", "--before")) if after or before else None
    arguments = {
        "namespace": namespace,
        "ids": list(map(str, ids)),
        "tags": list(tags),
        "session": session,
        "after": _utc_text(window.after if window else None),
        "before": _utc_text(window.before if window else None),
        "metadata": [_parse_condition(text) for text in metadata],
        "all": everything,
    }
    return {name: value for name, value in arguments.items() if value}


def _utc_text(time: datetime | None) -> str | None:
    return None if time is None else time.astimezone(UTC).isoformat()


def _parse_condition(text: str) -> dict[str, Any]:
    path, equals, value = text.partition("=")
    if not (path and equals):
        raise InvalidRequest(f"--metadata must be {_METADATA}, got {text[:60]!r}")
    return {"path": path, "values": [value]}
