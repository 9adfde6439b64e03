"""`mnemosyne remember` and `mnemosyne search`: store a memory and find it again, from a terminal."""

import sys

import click

from mnemosyne.errors import InvalidRequest
from mnemosyne_cli.terminal import plain
from mnemosyne_cli.tool_client import ToolClient, server

WAIT = 10
"""Seconds: what a server lets a client wait for an outcome."""


@click.command()
@click.argument("text", nargs=-1, required=True)
@click.option("--tag", "tags", multiple=True, help="A label to filter by; may be given again.")
@server
def remember(text: tuple[str, ...], tags: tuple[str, ...], url: str) -> None:
    """Store TEXT as one memory and say what became of it; `-` reads it from standard input."""
    content = sys.stdin.read() if text == ("-",) else " ".join(text)
    asked = {"content": content, "wait": WAIT, **({"tags": list(tags)} if tags else {})}
    told = ToolClient(url).call("ingest_memory", asked)
    state = told["status"]
    if state in ("failed", "dead_lettered"):
        raise InvalidRequest(f"{state}: {told.get('error')}")
    if state == "queued":
        click.echo(f"Queued as request {told['request_id']}: it is stored as soon as the server can.")
    else:
        click.echo(f"{'Stored' if state == 'stored' else 'Known already'} as {told['memory_id']}.")


@click.command()
@click.argument("query", nargs=-1, required=True)
@click.option("--tag", "tags", multiple=True, help="Only with this label; may be given again.")
@click.option("--when", metavar="WORDS", help="Only of that time: 'last week', 'since May'.")
@click.option("--limit", default=5, show_default=True, type=click.IntRange(1, 100), help="How many.")
@server
def search(query: tuple[str, ...], tags: tuple[str, ...], when: str | None, limit: int, url: str) -> None:
    """Find memories by meaning and words, best first."""
    narrowed = {"tags": list(tags) or None, "time_expr": when}
    asked = {"query": " ".join(query), "limit": limit} | {k: v for k, v in narrowed.items() if v}
    found = ToolClient(url).call("memory_search", asked)["memories"]
    for one in found:
        labels = "".join(f"  #{plain(tag)}" for tag in one["tags"])
        click.echo(f"{one['timestamp'][:10]}  {one['id']}{labels}")
        for line in one["content"].splitlines():
            click.echo(f"    {plain(line)}")
    if not found:
        click.echo("No memories found.")
