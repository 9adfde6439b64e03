"""`mnemosyne changes` and `mnemosyne change-feed`: print changes of memories, and turn the change feed on or off.

The change feed of a namespace records an event for each memory that is stored, changed or removed.
"""

import json
import shlex
from collections.abc import Iterator
from typing import Any

import click

from mnemosyne.app.operations.change_feed import ListChanges, ListFeeds, SetFeed
from mnemosyne.cli.command_group import FullHelpGroup
from mnemosyne.cli.following import Row, following_options, listing_pages, print_rows, seconds_since
from mnemosyne.cli.options import JSON, namespace_or_all
from mnemosyne.cli.system import System, memory_system, owners_system
from mnemosyne.cli.target import DATA_DIR, PROJECT, target, target_arguments
from mnemosyne.cli.terminal import column, plain, say
from mnemosyne.domain.change_feed import ChangeCursor


@click.command()
@following_options("changes")
def changes(
    since: str | None, timezone: str, follow: bool, namespace: str, as_json: bool, **target_values: Any
) -> None:
    """Print the changes of memories: created, updated, superseded, rated, expired, deleted or forgotten.

    Each change is printed once. The changes of one memory are printed in the order in which they were made. With
    --follow, a change is printed as soon as it is committed. All times are in UTC by the database's clock.

    A namespace records changes only while its change feed is on. `mnemosyne change-feed on` turns it on.
    """
    listing = ListChanges(namespace=namespace, after=ChangeCursor(since=seconds_since(since, timezone)))
    with memory_system(**target_values, delivers=follow) as system:
        rows = change_rows(system, listing, follow=follow, target_options=target_arguments(target_values))
        print_rows(rows, _format_change, counted_by="kind", noun="change", as_json=as_json, follow=follow)


def _format_change(event: Row) -> str:
    successor = f"by {event['superseded_by']}" if event["kind"] == "superseded" else None
    title = event.get("memory", {}).get("title")
    parts = [event["at"], f"{event['kind']:10}", event["memory_id"], ", ".join(event["fields"]), successor, title]
    return "  ".join(filter(None, parts))


def change_rows(system: System, operation: ListChanges, *, follow: bool, target_options: str = "") -> Iterator[Row]:
    """Yield the changes that are recorded so far. With `follow`, then wait for later changes and yield them, too.

    Prints a note if the change feed of the namespace is off. `target_options` are the options of the system for the
    command in the note.
    """
    has_note = False
    for page in listing_pages(system, operation, follow=follow):
        yield from page["events"]
        if not page["is_on"] and not has_note:
            has_note = True
            say(
                f"The change feed of namespace {operation.namespace!r} is off: turn it on with `mnemosyne change-feed "
                f"on --namespace {shlex.quote(operation.namespace)}{target_options}`.",
                err=True,
            )


@click.group(name="change-feed", cls=FullHelpGroup)
def change_feed() -> None:
    """Show for which namespaces the change feed is on, and turn it on or off."""


@change_feed.command(name="list")
@target(DATA_DIR, PROJECT)
@JSON
def list_(as_json: bool, **target_values: Any) -> None:
    """Show for which namespaces the change feed is on, and for which it is off."""
    with owners_system(**target_values) as system:
        feeds = system.run(ListFeeds())["feeds"]
    if as_json:
        say(json.dumps([feed | {"namespace": feed["namespace"] or None} for feed in feeds]))
        return
    for feed in feeds:
        state = ("on, with contents" if feed["contents"] else "on") if feed["enabled"] else "off"
        say(f"{column(feed['namespace'] or '(all others)', 30)}  {state}")
    if not feeds:
        say("No namespace has a change feed.")


@change_feed.command()
@namespace_or_all(help="The namespace [default: all without a setting of their own].")
@click.option("--contents", is_flag=True, help="Events have the content, title, tags and metadata of the memory.")
@target(DATA_DIR, PROJECT)
def on(namespace: str, contents: bool, **target_values: Any) -> None:
    """Turn the change feed on: from now on, record each change of a memory."""
    _set_feed(target_values, SetFeed(namespace=namespace, enabled=True, contents=contents))


@change_feed.command()
@namespace_or_all(help="The namespace [default: all without a setting of their own].")
@target(DATA_DIR, PROJECT)
def off(namespace: str, **target_values: Any) -> None:
    """Turn the change feed off: record no further changes.

    Changes that were recorded before are still published, and `mnemosyne changes` still prints them.
    """
    _set_feed(target_values, SetFeed(namespace=namespace, enabled=False))


def _set_feed(target_values: dict[str, Any], feed: SetFeed) -> None:
    with owners_system(**target_values) as system:
        system.run(feed)
    namespaces = f"namespace {feed.namespace!r}" if feed.namespace else "all namespaces without a setting of their own"
    contents = ", with contents" if feed.contents else ""
    say(f"The change feed of {plain(namespaces)} is {'on' if feed.enabled else 'off'}{contents}.")
