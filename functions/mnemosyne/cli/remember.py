"""`mnemosyne remember` and `mnemosyne search`: store and find memories from a terminal."""

import io
import json
import sys
from typing import Any

import click

from mnemosyne.cli.options import refuse_empty, text_option
from mnemosyne.cli.target import DATA_DIR, URL, target, tool_client
from mnemosyne.cli.terminal import INTERRUPTIONS, explained, plain, say
from mnemosyne.cli.times import local_date, local_time, machine_zone, timezone_option
from mnemosyne.cli.tool_client import ToolClient
from mnemosyne.domain.confidence import Confidence
from mnemosyne.domain.plurals import quantity
from mnemosyne.errors import InvalidRequest, MnemosyneError
from mnemosyne.formats.decoding import read_unicode

WAIT = 10
"""Seconds to wait for the outcome of storing a memory. The server accepts no higher value."""


def _split_tags(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Split tags at commas, as the MCP tools do, and refuse a value without a tag. This is a callback for click."""
    tags = [[tag for tag in map(str.strip, value.split(",")) if tag] for value in values]
    refuse_empty(context, parameter, tuple("".join(names) for names in tags))
    return tuple(tag for names in tags for tag in names)


@click.command()
@click.argument("text", nargs=-1, required=True)
@click.option("--tag", "tags", multiple=True, callback=_split_tags, metavar="TAGS", help="Tags, separated by commas.")
@text_option("--ttl", metavar="30d", help="How long to keep the memory: 90m, 12h, 30d, 2w [default: for good].")
@target(URL, DATA_DIR, by_settings=False)
def remember(
    text: tuple[str, ...], tags: tuple[str, ...], ttl: str | None, url: str | None, data_dir: str | None
) -> None:
    """Store TEXT as one memory and print the outcome. `-` reads the text from standard input."""
    content = _standard_input() if text == ("-",) else " ".join(text)
    labels = {"tags": list(tags) or None, "ttl": ttl}
    arguments = {"content": content, "wait": WAIT} | {
        name: value for name, value in labels.items() if value is not None
    }
    with tool_client(url, data_dir, stores=True) as client:
        _remember(client, arguments)


def _remember(client: ToolClient, arguments: dict[str, Any]) -> None:
    with explained("the memory may be stored. Run the same command again, which stores nothing twice.", INTERRUPTIONS):
        outcome = client.call("ingest_memory", arguments)
    state = outcome["status"]
    if state in ("failed", "dead_lettered", "deleted"):
        raise InvalidRequest(f"{state}: {outcome.get('error')}")
    if state != "queued":
        say(f"{'Stored' if state == 'stored' else 'Already stored'} as {outcome['memory_id']}.")
        if note := outcome.get("note"):
            say(f"Note: {plain(note)}")
        for name, label in (("similar", "Nearly the same"), ("may_replace", "May replace")):
            for memory in outcome.get(name, ()):
                say(f"{label}: {memory['id']}  {plain(memory['title'])}")
        return
    say(f"Queued as request {outcome['request_id']}: the server stores it as soon as it can.")
    try:
        (status,) = client.call("ingest_status", {"request_ids": [outcome["request_id"]]})["requests"]
    except MnemosyneError as exc:  # this command has not failed, because the memory is in the queue and will be stored
        say(f"Its state cannot be read now: {plain(exc)}", err=True)
        return
    if error := status["error"]:
        say(f"The last of {quantity(status['attempts'], 'attempt')} failed: {plain(error)}", err=True)


def _standard_input() -> str:
    """Return the text on standard input without its last line feed.

    Raises InvalidRequest if the text is not UTF-8, UTF-16 or UTF-32.
    """
    text = read_unicode(io.BytesIO(sys.stdin.buffer.read()), "standard input")
    return text.removesuffix("\n").removesuffix("\r")


@click.command()
@click.argument("query", nargs=-1)
@click.option(
    "--tag", "tags", multiple=True, callback=_split_tags, metavar="TAGS", help="Only memories with one of these tags."
)
@text_option("--when", metavar="WORDS", help="Only memories of this time: 'last week', 'since May'.")
@timezone_option(machine_zone, help="Time zone of --when, the query and the printed dates; an IANA name.")
@click.option("--limit", default=5, show_default=True, type=click.IntRange(1, 100), help="Most results.")
@click.option(
    "--min-confidence",
    type=click.Choice([confidence.value for confidence in Confidence]),
    help="Leave out results that are less close to the query.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the answer of memory_search as JSON.")
@target(URL, DATA_DIR, by_settings=False)
def search(
    query: tuple[str, ...],
    tags: tuple[str, ...],
    when: str | None,
    timezone: str,
    limit: int,
    min_confidence: str | None,
    as_json: bool,
    url: str | None,
    data_dir: str | None,
) -> None:
    """Find memories by meaning and words, best first, with their confidence: strong, related or weak.

    Without a query, list the newest memories that match --tag and --when. Notes on stderr say if no result is close to
    the query, and if the search used only words instead of meaning, and why.
    """
    text = " ".join(query)
    if not (text.strip() or tags or when):
        raise click.UsageError("give a query, --tag or --when")
    filters = {"tags": list(tags) or None, "time_expr": when, "min_confidence": min_confidence}
    arguments = {"query": text, "limit": limit, "timezone": timezone} | {k: v for k, v in filters.items() if v}
    with tool_client(url, data_dir) as client:
        answer = client.call("memory_search", arguments)
    if as_json:
        say(json.dumps(answer))
    else:
        _print_answer(answer, timezone)


def _print_answer(answer: dict[str, Any], timezone: str) -> None:
    for name in ("degraded", "nothing_close", "closer_hits", "more"):
        if answer.get(name):
            say(plain(answer[name]), err=True)
    for memory in answer["memories"]:
        labels = "".join(f"  {plain(label)}" for label in _labels(memory))
        say(f"{local_date(memory['timestamp'], timezone)}  {memory['id']}{labels}")
        passage = f"\n… {memory['snippet']} …" if memory.get("snippet") else ""
        for line in f"{memory['content']}{passage}".splitlines():
            say(f"    {plain(line)}")
        if memory.get("truncated"):
            say("    (cut off here; get_memory and the console show the whole memory)")
        if memory.get("supersedes"):
            say(f"    (replaces {', '.join(memory['supersedes'])})")
        if memory.get("expires_at"):
            say(f"    (expires {local_time(memory['expires_at'], timezone):%Y-%m-%d %H:%M %Z})")
        if memory.get("near_duplicates"):
            say(f"    (the same text except for white space or a full stop: {', '.join(memory['near_duplicates'])})")
    if not answer["memories"]:
        say("No memories found.")


def _labels(memory: dict[str, Any]) -> list[str]:
    """Return the confidence (if the search had a query) and the tags of a memory that a search has found."""
    confidence = [memory["confidence"]] if memory.get("confidence") else []
    return confidence + [f"#{tag}" for tag in memory["tags"]]
