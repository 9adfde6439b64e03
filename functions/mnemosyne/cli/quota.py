"""`mnemosyne quota`: show usage and set quotas of namespaces, locally or in a deployment."""

import json
from typing import Any

import click

from mnemosyne.app.operations.access import Limit, ListQuotas, SetQuota
from mnemosyne.cli.command_group import FullHelpGroup
from mnemosyne.cli.options import JSON, namespace_or_all, text_option
from mnemosyne.cli.system import owners_system
from mnemosyne.cli.target import DATA_DIR, PROJECT, target
from mnemosyne.cli.terminal import column, plain, say
from mnemosyne.domain.quota import EVERYBODY

ANY_NUMBER = 2**63 - 1
MOST_DIGITS = 100
"""Maximum number of digits of a limit. It prevents an error of Python, which converts at most 4,300 digits."""
LIMITS: tuple[Limit, ...] = ("memories", "bytes", "texts_a_day")

DEFAULT = -1
"""Value of an option for which the user has given the word `default`. The namespace gets the default limit."""
COLUMNS = (("memories", "memories_limit"), ("bytes", "bytes_limit"), ("texts_today", "texts_limit"))


class _Limit(click.ParamType[int]):
    name = "N|any|default"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> int:
        word = str(value).lower()  # --help shows the words ANY and DEFAULT, so ignore case
        words = {"any": ANY_NUMBER, "default": DEFAULT}
        if word not in words and not (word.isdecimal() and len(word) <= MOST_DIGITS):
            self.fail(f"must be a number of at most {MOST_DIGITS} digits, `any` or `default`, got {str(value)[:60]!r}")
        return words[word] if word in words else min(int(word), ANY_NUMBER)


@click.group(cls=FullHelpGroup)
def quota() -> None:
    """Show and set the quotas of namespaces."""


@quota.command(name="list")
@text_option("--namespace", help="Only this namespace [default: all].")
@target(DATA_DIR, PROJECT)
@JSON
def list_(namespace: str | None, as_json: bool, **target_values: Any) -> None:
    """Show each namespace's usage and limits."""
    with owners_system(**target_values) as system:
        quotas = system.run(ListQuotas(namespace=namespace))["quotas"]
    if as_json:
        say(json.dumps([values | {"namespace": values["namespace"] or None} for values in quotas]))
        return
    for values in quotas:
        parts = (_format_usage(values[used], values[limit], used.replace("_", " ")) for used, limit in COLUMNS)
        say(f"{column(values['namespace'] or '(all others)', 30)}  {', '.join(parts)}")


@quota.command(name="set")
@namespace_or_all(help="The namespace [default: all without limits of their own].")
@click.option("--memories", type=_Limit(), help="Maximum number of memories.")
@click.option("--bytes", type=_Limit(), help="Maximum bytes of contents, titles, tags and metadata.")
@click.option("--texts-a-day", type=_Limit(), help="Maximum number of texts embedded a day (UTC).")
@target(DATA_DIR, PROJECT)
@JSON
def set_(namespace: str, as_json: bool, **options: Any) -> None:
    """Set the limits of a namespace, or the default limits. A limit whose option is missing does not change.

    The value `any` means no limit. The value `default` means the default limit of all namespaces.
    """
    values = {name: options.pop(name) for name in LIMITS}
    limits = {name: None if limit == DEFAULT else limit for name, limit in values.items() if limit is not None}
    if not limits:
        raise click.UsageError("name at least one of --memories, --bytes and --texts-a-day")
    with owners_system(**options) as system:
        system.run(SetQuota(namespace=namespace or EVERYBODY, limits=limits))
    subject = f"namespace {plain(namespace)}" if namespace else "all namespaces without limits of their own"
    result = f"Set for {subject}; takes effect within a minute."
    say(json.dumps({"namespace": namespace or None, **limits}) if as_json else result)


def _format_usage(used: int, limit: int | None, unit: str) -> str:
    return f"{used:,} {unit} (no limit)" if limit is None else f"{used:,} of {limit:,} {unit}"
