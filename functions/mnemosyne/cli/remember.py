"""`mnemosyne remember` and `mnemosyne search`: store a memory and find it again, from a terminal."""

import sys
from typing import Any

import click

from mnemosyne.cli.target import DATA_DIR, URL, target, tool_client
from mnemosyne.cli.terminal import plain, say
from mnemosyne.cli.times import local_date, machine_zone, timezone_option
from mnemosyne.cli.tool_client import ToolClient
from mnemosyne.domain.plurals import counted
from mnemosyne.errors import InvalidRequest

WAIT = 10
"""Seconds: what a server lets a client wait for an outcome."""


def _tags(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Split tags at commas, as the tools do; a click callback."""
    return tuple(tag for value in values for tag in map(str.strip, value.split(",")) if tag)


@click.command()
@click.argument("text", nargs=-1, required=True)
@click.option("--tag", "tags", multiple=True, callback=_tags, metavar="TAGS", help="Labels, separated by commas.")
@target(URL, DATA_DIR, by_settings=False)
def remember(text: tuple[str, ...], tags: tuple[str, ...], url: str | None, data_dir: str | None) -> None:
    """Store TEXT as one memory and say what became of it; `-` reads it from standard input."""
    content = _standard_input() if text == ("-",) else " ".join(text)
    asked = {"content": content, "wait": WAIT, **({"tags": list(tags)} if tags else {})}
    with tool_client(url, data_dir, make=True) as client:
        _remember(client, asked)


def _remember(client: ToolClient, asked: dict[str, Any]) -> None:
    outcome = client.call("ingest_memory", asked)
    state = outcome["status"]
    if state in ("failed", "dead_lettered"):
        raise InvalidRequest(f"{state}: {outcome.get('error')}")
    if state != "queued":
        say(f"{'Stored' if state == 'stored' else 'Known already'} as {outcome['memory_id']}.")
        return
    say(f"Queued as request {outcome['request_id']}: it is stored as soon as the server can.")
    (status,) = client.call("ingest_status", {"request_ids": [outcome["request_id"]]})["requests"]
    if error := status["error"]:
        say(f"The last of {counted(status['attempts'], 'attempt')} failed: {plain(error)}", err=True)


def _standard_input() -> str:
    """Return the text on standard input without its last newline; raises InvalidRequest if it is not UTF-8."""
    read = sys.stdin.buffer.read()
    try:
        return read.decode("utf-8-sig").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as exc:
        raise InvalidRequest(
            f"standard input must be text in UTF-8, found the byte 0x{read[exc.start]:02x} at position {exc.start:,}: "
            "convert it, as with iconv -f LATIN1 -t UTF-8"
        ) from exc


@click.command()
@click.argument("query", nargs=-1, required=True)
@click.option("--tag", "tags", multiple=True, callback=_tags, metavar="TAGS", help="Only with these labels.")
@click.option("--when", metavar="WORDS", help="Only of that time: 'last week', 'since May'.")
@timezone_option(machine_zone, help="Of --when, times in the query and dates shown; an IANA name.")
@click.option("--limit", default=5, show_default=True, type=click.IntRange(1, 100), help="How many.")
@target(URL, DATA_DIR, by_settings=False)
def search(
    query: tuple[str, ...],
    tags: tuple[str, ...],
    when: str | None,
    timezone: str,
    limit: int,
    url: str | None,
    data_dir: str | None,
) -> None:
    """Find memories by meaning and words, best first. A note on stderr says why a search was by words only."""
    narrowed = {"tags": list(tags) or None, "time_expr": when}
    asked = {"query": " ".join(query), "limit": limit, "timezone": timezone} | {k: v for k, v in narrowed.items() if v}
    with tool_client(url, data_dir) as client:
        answer = client.call("memory_search", asked)
    found = answer["memories"]
    if answer.get("degraded"):
        say(plain(answer["degraded"]), err=True)
    for one in found:
        labels = "".join(f"  #{plain(tag)}" for tag in one["tags"])
        say(f"{local_date(one['timestamp'], timezone)}  {one['id']}{labels}")
        for line in one["content"].splitlines():
            say(f"    {plain(line)}")
        if one.get("supersedes"):
            say(f"    (replaces {', '.join(one['supersedes'])})")
        if one.get("near_duplicates"):
            say(f"    (the same, but for white space or a full stop: {', '.join(one['near_duplicates'])})")
    if not found:
        say("No memories found.")
