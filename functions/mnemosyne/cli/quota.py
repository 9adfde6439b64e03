"""`mnemosyne quota`: show usage and set quotas of namespaces, locally or in a deployment."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import click

from mnemosyne.adapters.database.quotas import ANY_NUMBER, LIMITS, PostgresQuotas
from mnemosyne.cli.command_group import FullHelpGroup
from mnemosyne.cli.deployment import Deployment
from mnemosyne.cli.open_services import owner_connection_factory
from mnemosyne.cli.target import DATA_DIR, PROJECT, target
from mnemosyne.cli.terminal import plain, say
from mnemosyne.domain.quota import EVERYBODY

DEFAULT = -1
"""Stands for the default limit of all namespaces."""
COLUMNS = (("memories", "memories_limit"), ("bytes", "bytes_limit"), ("texts_today", "texts_limit"))


class _Limit(click.ParamType[int]):
    name = "N|any|default"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> int:
        word = str(value).lower()  # click shows the choices in upper case
        words = {"any": ANY_NUMBER, "default": DEFAULT}
        if word not in words and not word.isdecimal():
            self.fail(f"must be a number, `any` or `default`, got {value!r}")
        return words[word] if word in words else min(int(word), ANY_NUMBER)


@click.group(cls=FullHelpGroup)
def quota() -> None:
    """Show and set the quotas of namespaces."""


@quota.command(name="list")
@click.option("--namespace", help="Only this namespace [default: all].")
@target(DATA_DIR, PROJECT)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(namespace: str | None, as_json: bool, **place: Any) -> None:
    """Show each namespace's usage and limits."""
    with _quotas(**place) as store:
        quotas = store.every(namespace)
    if as_json:
        say(json.dumps([{"namespace": name or None, **values} for name, values in quotas]))
        return
    for name, values in quotas:
        parts = (
            f"{values[used]:,} of {_format_limit(values[limit])} {used.replace('_', ' ')}" for used, limit in COLUMNS
        )
        say(f"{plain(name) or '(everybody)':30}  {', '.join(parts)}")


@quota.command(name="set")
@click.option("--namespace", help="The namespace [default: all without limits of their own].")
@click.option("--memories", type=_Limit(), help="Most memories.")
@click.option("--bytes", type=_Limit(), help="Most bytes of contents, titles, tags and metadata.")
@click.option("--texts-a-day", type=_Limit(), help="Most texts embedded in a day (UTC).")
@target(DATA_DIR, PROJECT)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def set_(namespace: str | None, as_json: bool, **options: Any) -> None:
    """Set limits. Others do not change. `any` means no limit, `default` the default of all namespaces."""
    values = {name: options.pop(name) for name in LIMITS}
    limits = {name: None if limit == DEFAULT else limit for name, limit in values.items() if limit is not None}
    if not limits:
        raise click.UsageError("name at least one of --memories, --bytes and --texts-a-day")
    with _quotas(**options) as store:
        store.set(namespace or EVERYBODY, limits)
    subject = f"namespace {plain(namespace)}" if namespace else "all namespaces without limits of their own"
    say(json.dumps({"namespace": namespace, **limits}) if as_json else f"Set for {subject}, within a minute.")


def _format_limit(limit: int | None) -> str:
    return "any" if limit is None else f"{limit:,}"


class _LocalQuotas:
    def __init__(self, store: PostgresQuotas) -> None:
        self._store = store
        self.set = store.set

    def every(self, namespace: str | None) -> Sequence[tuple[str, dict[str, Any]]]:
        return [(name, asdict(usage)) for name, usage in self._store.every(namespace)]


class _RemoteQuotas:
    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment

    def set(self, namespace: str, limits: dict[str, int | None]) -> None:
        self._deployment.post("quotas", action="set", namespace=namespace, limits=limits)

    def every(self, namespace: str | None) -> Sequence[tuple[str, dict[str, Any]]]:
        filters = {"namespace": namespace} if namespace else {}
        answer = self._deployment.post("quotas", action="list", **filters)
        return [(quota.pop("namespace"), quota) for quota in answer["quotas"]]


@contextmanager
def _quotas(
    project: str | None, region: str, deployment: str, data_dir: str | None
) -> Iterator[_LocalQuotas | _RemoteQuotas]:
    if project is not None:
        yield _RemoteQuotas(Deployment(project, region, deployment))
        return
    with owner_connection_factory(data_dir) as connection_factory:
        yield _LocalQuotas(PostgresQuotas(connection_factory))
