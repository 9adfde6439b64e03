"""What a tool is, and how its schemas are made from the models of its arguments and result."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeAlias, TypeVar

import mcp_types
from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer

from mnemosyne.domain.parsing import Input
from mnemosyne.domain.principal import Principal, Scope
from mnemosyne.mcp.app import TOOL_META
from mnemosyne.ports.services import Services

ArgumentsT = TypeVar("ArgumentsT", bound=Input)


_current: ContextVar[Principal | None] = ContextVar("principal", default=None)


@contextmanager
def principal_context(principal: Principal) -> Iterator[None]:
    """Serve a request on that principal's behalf."""
    token = _current.set(principal)
    try:
        yield
    finally:
        _current.reset(token)


def current_principal() -> Principal | None:
    """On whose behalf the request being served runs, where it came with a principal."""
    return _current.get()


class Result(BaseModel):
    """Base of what tools return: becomes `structuredContent`, without optional fields that are None
    (`exclude_none`).
    """

    model_config = ConfigDict(frozen=True)

    @model_serializer(mode="wrap")
    def _exclude_none(self, serialize: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def]
        """Untyped on purpose: a return type would take the fields' place in the output schema."""
        shown = serialize(self)
        fields = type(self).model_fields
        return {name: value for name, value in shown.items() if value is not None or fields[name].is_required()}


@dataclass(frozen=True)
class Reply:
    """A result and the text that says the same; where the text is None it is the result as compact JSON."""

    result: Result
    text: str | None = None
    notes: tuple[str, ...] = ()
    """What is ours to tell of it: shown apart from a text in which it could be forged."""


Look: TypeAlias = Callable[[Mapping[str, Any], Principal, Services], Reply | None]
"""Given a structured result, what became of what it says was accepted; None while that is open."""


@dataclass(frozen=True, kw_only=True)
class Tool(Generic[ArgumentsT]):
    """One tool: what an agent reads about it, and what runs."""

    name: str
    title: str
    description: str
    arguments: type[ArgumentsT]
    result: type[Result]
    run: Callable[[ArgumentsT, Principal, Services], Reply]
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    operates: bool = False
    """Whether it is for who operates the namespace, not for who remembers there."""
    needs_database: bool = True
    """Tools that only publish must not wait behind those that wait for a database connection."""
    gives_stored: bool = False
    """Whether its answers hold what somebody stored, which must not be taken for ours."""
    units: Callable[[Mapping[str, Any]], float] = lambda arguments: 0.0
    """What a call costs beside what every request does; of arguments as they came, whatever they are."""
    unlisted: tuple[str, ...] = ()
    """Arguments that are taken and documented, but not shown to agents: an operator's dials, and rare filters."""
    has_view: bool = False
    """Whether the MCP App shows its results, in hosts that show one."""
    asks_first: "Tool[ArgumentsT] | None" = None
    """What finds the question, as its result's `question`, that is asked before it runs, where a client can answer."""
    outcome: Look | None = None
    """How to look for what became of what a call accepted, for who says `wait`."""
    refused: str = ""
    """What an error of a call adds, where it is not plain what became of a part of it."""
    deprecated: str | None = None
    """What to call instead, where this is an old name."""

    @property
    def scope(self) -> Scope:
        """What a caller must hold."""
        if self.operates:
            return Scope.OPERATE
        return Scope.READ if self.read_only else Scope.WRITE

    @cached_property
    def schema(self) -> dict[str, Any]:
        """What its arguments are, those that are not listed among them."""
        made: dict[str, Any] = _for_models(_tidy(self.arguments.model_json_schema()))
        return made

    @cached_property
    def listing(self) -> mcp_types.Tool:
        """The tool as `tools/list` shows it; made once, for its schemas take milliseconds."""
        return mcp_types.Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=_shown(self.schema, self.unlisted),
            meta=TOOL_META if self.has_view else None,
            output_schema={"type": "object"},  # of what, the contract says: it would double the listing
            annotations=mcp_types.ToolAnnotations(
                read_only_hint=self.read_only,
                # Of what only reads they have no meaning, and the latter is false by default: MCP's ToolAnnotations.
                destructive_hint=None if self.read_only else self.destructive,
                idempotent_hint=True if self.idempotent and not self.read_only else None,
                open_world_hint=False,
            ),
        )


BOUNDS = ("minLength", "maxLength", "minItems", "maxItems")
"""Of texts and lists: enforced by the server, which says them where they matter; each would cost an agent tokens."""
SAID_IN_WORDS: tuple[tuple[str, Any], ...] = (("default", "UTC"), ("default", "="), ("default", []))
"""Defaults that descriptions tell, or that any reader expects."""


def _shown(schema: Any, unlisted: Collection[str]) -> Any:
    """Return the schema as it is listed."""
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") in ("object", ["object", "null"]) and "properties" not in schema:
        # Any JSON object, which no vendor's strict mode can express: as text it can. `mcp.coerce` reads both.
        schema = schema | {"type": ["string", "null"]}
    told = {k: v for k, v in schema.items() if k not in (*BOUNDS, "properties") and (k, v) not in SAID_IN_WORDS}
    kept = {k: _shown(v, unlisted) for k, v in told.items()}
    if "properties" in schema:
        named = schema["properties"].items()
        kept["properties"] = {name: _shown(one, unlisted) for name, one in named if name not in unlisted}
    return kept


def _tidy(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema in one piece, without what no agent needs: generated titles, docstrings of models, defaults
    that are null or JSON Schema's own.

    An optional argument is shown with its type alone; null is understood as absent.
    """
    definitions = schema.get("$defs", {})
    tidied: dict[str, Any] = _tidied({k: v for k, v in schema.items() if k != "$defs"}, definitions)
    return tidied


def _for_models(schema: Any) -> Any:
    """Return the schema of arguments as the vendors' converters want it.

    What is optional may be null, for where all must be given: `mcp.coerce` takes it for absent. That nothing else is
    taken is not said, for google-genai's converter fails on a boolean `additionalProperties`; it is refused.
    """
    if not isinstance(schema, dict):
        return schema
    made = {k: _for_models(v) for k, v in schema.items() if k not in ("additionalProperties", "properties")}
    if "properties" in schema:
        required = schema.get("required", ())
        made["properties"] = {
            name: _for_models(one) if name in required else _nullable(_for_models(one))
            for name, one in schema["properties"].items()
        }
    return made


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    choices = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return schema | {"type": [schema["type"], "null"]} | choices


def _undescribed(schema: Any) -> Any:
    """Return the schema of a list's items, which the list's own description explains."""
    if isinstance(schema, list):
        return [_undescribed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    named = schema.get("properties", {})
    kept = {k: _undescribed(v) for k, v in schema.items() if k not in ("description", "properties")}
    return kept | ({"properties": {name: _undescribed(value) for name, value in named.items()}} if named else {})


def _tidied(node: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(node, list):
        return [_tidied(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if reference := node.get("$ref"):
        target = {k: v for k, v in definitions[reference.split("/")[-1]].items() if k != "description"}
        node = target | {k: v for k, v in node.items() if k != "$ref"}
    options = node.get("anyOf", [])
    if len(options) == 2 and {"type": "null"} in options and node.get("default", ...) is None:
        (present,) = (option for option in options if option != {"type": "null"})
        return _tidied({k: v for k, v in node.items() if k not in ("anyOf", "default")} | present, definitions)
    kept = {k: v for k, v in node.items() if k != "title" and (k, v) != ("additionalProperties", True)}
    if isinstance(items := kept.get("items"), dict) and "$ref" in items:
        kept["items"] = _undescribed(_tidied(items, definitions))
    if kept.get("type") == "object" and "properties" in kept:
        kept.pop("description", None)
    properties = kept.pop("properties", None)
    tidied = {k: _tidied(v, definitions) for k, v in kept.items()}
    if properties is not None:
        tidied["properties"] = {name: _tidied(value, definitions) for name, value in properties.items()}
    return tidied
