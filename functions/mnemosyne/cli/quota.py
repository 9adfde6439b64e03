"""`mnemosyne quota`: what each namespace holds, and what it may hold, here or in a deployment."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import click

from mnemosyne.adapters.database.quotas import ANY_NUMBER, LIMITS, PostgresQuotas
from mnemosyne.cli.command_group import WholeSentences
from mnemosyne.cli.deployment import Deployment
from mnemosyne.cli.open_services import owner_connection_factory
from mnemosyne.cli.target import DATA_DIR, PROJECT, target
from mnemosyne.cli.terminal import plain, say
from mnemosyne.domain.quota import EVERYBODY

DEFAULT = -1
"""A limit that is everybody's."""
COLUMNS = (("memories", "memories_limit"), ("bytes", "bytes_limit"), ("texts_today", "texts_limit"))


class _Limit(click.ParamType[int]):
    name = "N|any|default"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> int:
        word = str(value).lower()  # click shows the choices in upper case
        words = {"any": ANY_NUMBER, "default": DEFAULT}
        if word not in words and not word.isdecimal():
            self.fail(f"must be a number, `any` or `default`, got {value!r}")
        return words[word] if word in words else min(int(word), ANY_NUMBER)


@click.group(cls=WholeSentences)
def quota() -> None:
    """Show and set what namespaces may hold, and have embedded in a day."""


@quota.command(name="list")
@click.option("--namespace", help="Only this one [default: every one].")
@target(DATA_DIR, PROJECT)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(namespace: str | None, as_json: bool, **place: Any) -> None:
    """Show what each namespace holds of what it may hold."""
    with _quotas(**place) as known:
        listed = known.every(namespace)
    if as_json:
        say(json.dumps([{"namespace": name or None, **values} for name, values in listed]))
        return
    for name, values in listed:
        parts = (f"{values[used]:,} of {_shown(values[limit])} {used.replace('_', ' ')}" for used, limit in COLUMNS)
        say(f"{plain(name) or '(everybody)':30}  {', '.join(parts)}")


@quota.command(name="set")
@click.option("--namespace", help="Whose [default: everybody's who has none of their own].")
@click.option("--memories", type=_Limit(), help="How many memories.")
@click.option("--bytes", type=_Limit(), help="How many bytes of contents, titles, tags and metadata.")
@click.option("--texts-a-day", type=_Limit(), help="How many texts may be embedded in a day (UTC).")
@target(DATA_DIR, PROJECT)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def set_(namespace: str | None, as_json: bool, **options: Any) -> None:
    """Set limits; those not named stay. `any` is no limit, `default` everybody's."""
    given = {name: options.pop(name) for name in LIMITS}
    limits = {name: None if limit == DEFAULT else limit for name, limit in given.items() if limit is not None}
    if not limits:
        raise click.UsageError("name at least one of --memories, --bytes and --texts-a-day")
    with _quotas(**options) as known:
        known.set(namespace or EVERYBODY, limits)
    of_whom = f"namespace {plain(namespace)}" if namespace else "everybody"
    say(json.dumps({"namespace": namespace, **limits}) if as_json else f"Set for {of_whom}, within a minute.")


def _shown(limit: int | None) -> str:
    return "any" if limit is None else f"{limit:,}"


class _Here:
    def __init__(self, keeper: PostgresQuotas) -> None:
        self._keeper = keeper
        self.set = keeper.set

    def every(self, namespace: str | None) -> Sequence[tuple[str, dict[str, Any]]]:
        return [(name, asdict(one)) for name, one in self._keeper.every(namespace)]


class _There:
    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment

    def set(self, namespace: str, limits: dict[str, int | None]) -> None:
        self._deployment.post("quotas", action="set", namespace=namespace, limits=limits)

    def every(self, namespace: str | None) -> Sequence[tuple[str, dict[str, Any]]]:
        asked = {"namespace": namespace} if namespace else {}
        answer = self._deployment.post("quotas", action="list", **asked)
        return [(one.pop("namespace"), one) for one in answer["quotas"]]


@contextmanager
def _quotas(project: str | None, region: str, deployment: str, data_dir: str | None) -> Iterator[_Here | _There]:
    if project is not None:
        yield _There(Deployment(project, region, deployment))
        return
    with owner_connection_factory(data_dir) as connection_factory:
        yield _Here(PostgresQuotas(connection_factory))
