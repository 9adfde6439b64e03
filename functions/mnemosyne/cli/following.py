"""Print a list of rows and, with --follow, the rows that are added later.

The commands `mnemosyne outcomes` and `mnemosyne changes` use this module.
"""

import json
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import click

from mnemosyne.app.operations.operation import Operation
from mnemosyne.cli.options import JSON_LINES, Decorator, namespace_option, options, text_option
from mnemosyne.cli.system import System
from mnemosyne.cli.target import DATA_DIR, PROJECT, target
from mnemosyne.cli.terminal import plain, say
from mnemosyne.cli.times import age, machine_zone, timezone_option
from mnemosyne.domain.plurals import quantity

POLL_SECONDS = 0.5
Row = dict[str, Any]


def following_options(rows: str) -> Decorator:
    """Return a decorator that adds the options of a command that prints a list of rows, such as --follow.

    `rows` is a plural noun for these rows, such as "changes".
    """
    return options(
        since_options(rows, example="90m, 12h, 7d"),
        click.option("--follow", is_flag=True, help=f"Print further {rows} until Ctrl-C."),
        namespace_option(help=f"{rows.capitalize()} of this namespace."),
        JSON_LINES,
        target(DATA_DIR, PROJECT),
    )


def since_options(rows: str, *, example: str) -> Decorator:
    """Return a decorator that adds --since and --timezone. `rows` is a plural noun for the rows that are printed."""
    text = f"Only {rows} of this age or since this time: {example}, yesterday or 2026-05-20."
    return options(
        text_option("--since", metavar="TIME", help=text),
        timezone_option(machine_zone, help="Time zone of --since; an IANA name."),
    )


def seconds_since(since: str | None, timezone: str) -> float | None:
    """Convert the value of --since to seconds before now. Return None if the option is missing."""
    return None if since is None else age(since, timezone).total_seconds()


def listing_pages(system: System, operation: Operation, *, follow: bool) -> Iterator[Row]:
    """Yield the pages of an operation that returns rows. With `follow`, wait for further rows after the last page."""
    never = threading.Event()
    while True:
        page = system.run(operation)
        yield page
        operation = operation.next_page(page["after"])
        if page["is_last"]:
            if not follow:
                return
            never.wait(POLL_SECONDS)


def print_rows(
    rows: Iterator[Row], line: Callable[[Row], str], *, counted_by: str, noun: str, as_json: bool, follow: bool
) -> None:
    """Print each row, as JSON or as the text that `line` returns.

    At the end, also after Ctrl-C and SIGTERM, print the number of rows for each value of the field `counted_by`. After
    an error, print no numbers, because they would cover only a part of the list. With `follow`, Ctrl-C is the usual
    end. Without `follow`, Ctrl-C is an error, because the list is incomplete.
    """
    counts: Counter[str] = Counter()
    try:
        for row in rows:
            counts[row[counted_by]] += 1
            say(json.dumps(row) if as_json else plain(line(row)))
            if follow:
                sys.stdout.flush()
    except KeyboardInterrupt:
        if not follow:
            raise
    finally:
        if not isinstance(sys.exception(), Exception):
            total = ", ".join(f"{count:,} {value}" for value, count in sorted(counts.items()))
            say(f"{quantity(counts.total(), noun)}{': ' if total else ''}{total}.", err=True)
