"""`mnemosyne access` and `mnemosyne audit`: the audit trail of a credential, or the whole audit trail."""

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import click

from mnemosyne.app.operations.access import ListAudit
from mnemosyne.cli.following import seconds_since, since_options
from mnemosyne.cli.options import JSON_LINES, options, text_option
from mnemosyne.cli.system import owners_system, pages
from mnemosyne.cli.target import DATA_DIR, PROJECT, target
from mnemosyne.cli.terminal import plain, say
from mnemosyne.domain.plurals import quantity

SHOWN_IDS = 3
"""Maximum number of memory ids in a line of the printed audit trail. With --json, a line has up to 100 ids."""
_options = options(
    text_option("--key", metavar="ID", help="Accesses by this API key."),
    text_option("--person", metavar="WHO", help="Accesses by this person: address or subject."),
    text_option("--client", metavar="ID", help="Accesses by this OAuth client's id, or API keys of this name."),
    text_option("--grant", metavar="ID", help="Accesses by this grant of a client."),
    text_option("--namespace", metavar="NAME", help="Accesses to this namespace."),
    text_option("--action", "of_action", metavar="NAME", help="Only this tool or operation."),
    since_options("events", example="90m, 12h"),
    target(DATA_DIR, PROJECT),
    JSON_LINES,
)


@click.command()
@_options
def access(**values: Any) -> None:
    """Show the accesses by a key, a person, a client or a grant, or the accesses to a namespace.

    For each access, the output has the time, the action (a tool or an operation), and the ids or the number of
    the memories, but no contents.
    """
    if not any(values[name] for name in ("key", "person", "client", "grant", "namespace")):
        raise click.UsageError("name --key, --person, --client, --grant or --namespace; `mnemosyne audit` shows all")
    _print_events(**values)


@click.command()
@_options
def audit(**values: Any) -> None:
    """Show the audit trail, oldest first: who read or changed which memories, without their contents."""
    _print_events(**values)


def _print_events(*, since: str | None, timezone: str, as_json: bool, **values: Any) -> None:
    names = ("key", "person", "client", "grant", "namespace", "of_action")
    filters = {name: values.pop(name) for name in names}
    counts: Counter[str] = Counter()
    with owners_system(**values) as system:
        for page in pages(system, ListAudit(**filters, since=seconds_since(since, timezone))):
            for event in page["events"]:
                counts[event["action"]] += 1
                say(json.dumps(event) if as_json else plain(_line(event)))
    total = ", ".join(f"{count:,} {action}" for action, count in sorted(counts.items()))
    say(f"{quantity(counts.total(), 'access', 'accesses')}{': ' if total else ''}{total}.", err=True)


def _line(event: Mapping[str, Any]) -> str:
    ids = event["ids"][:SHOWN_IDS]
    # Some events have a count but no ids, such as the renaming of a tag. The line then has only the count.
    if ids and event["count"] > len(ids):
        ids = [*ids, f"and {event['count'] - len(ids):,} more"]
    actor = " ".join(filter(None, [event["principal"], event["credential"], event["client"]]))
    count = f"{event['count']:,}" if event["count"] else ""
    parts = [event["at"][:19] + "Z", f"{event['action']:18}", f"{event['outcome']:8}", event["namespace"], actor, count]
    return "  ".join(filter(None, [*parts, ", ".join(ids)]))
