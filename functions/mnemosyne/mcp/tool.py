"""Definition of a tool, and its schemas, built from pydantic models."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

import mcp_types
from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer

from mnemosyne.domain import rate_limit
from mnemosyne.domain.parsing import Input
from mnemosyne.domain.principal import Principal, Scope
from mnemosyne.mcp.app import TOOL_META
from mnemosyne.mcp.coerce import coerce_arguments
from mnemosyne.ports.services import Services

ArgumentsT = TypeVar("ArgumentsT", bound=Input)


_current: ContextVar[Principal | None] = ContextVar("principal", default=None)


@contextmanager
def principal_context(principal: Principal) -> Iterator[None]:
    """Set the principal (authenticated caller) of the current request, for the duration of the `with` block."""
    token = _current.set(principal)
    try:
        yield
    finally:
        _current.reset(token)


def current_principal() -> Principal | None:
    """Return the principal of the current request, or None if the transport has set none."""
    return _current.get()


class Result(BaseModel):
    """Base class of tools' results. A result becomes `structuredContent`, without optional fields that are None.

    A result can be built from any object with the same attributes, such as an object of `mnemosyne.domain`.
    """

    model_config = ConfigDict(frozen=True, from_attributes=True)

    _optional: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Find the optional fields of the class."""
        cls._optional = frozenset(name for name, field in cls.model_fields.items() if not field.is_required())

    @model_serializer(mode="wrap")
    def _exclude_none(self, serialize: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def]
        """Leave out optional fields that are None.

        The method has no return annotation, because pydantic would use it for the output schema instead of the fields.
        """
        values = serialize(self)
        if None not in values.values():
            return values
        optional = self._optional
        return {name: value for name, value in values.items() if value is not None or name not in optional}


@dataclass(frozen=True)
class Reply:
    """A result and its text for the model. Without a text, the result is shown as compact JSON."""

    result: Result
    text: str | None = None
    notes: tuple[str, ...] = ()
    """Notes of the server, in a separate block that stored text cannot imitate."""
    has_stored_text: bool = True
    """Whether the text can contain text that somebody stored: contents, titles, tags, or errors that quote them. If so,
    a notice to the model follows the text. False for texts of the server, and for texts that contain their own
    notice."""
    is_dry_run: bool = False
    """Whether the call changed nothing, and only showed what a further call would change."""


Look: TypeAlias = Callable[[Mapping[str, Any], Principal, Services], Reply | None]
"""Function that looks up the outcome of an accepted request, or returns None while there is no outcome. The first
argument is the structured result of the call that accepted the request."""


@dataclass(frozen=True, kw_only=True)
class ToolOptions:
    """Description and options of a tool."""

    title: str
    description: str
    result: type[Result]
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    operates: bool = False
    """Whether a call of the tool needs the scope `operate`."""
    needs_scope: bool = True
    """Whether a call of the tool needs a certain scope. For other tools, any scope is enough."""
    needs_database: bool = True
    """Whether the tool needs the database. Other tools only publish messages. They run in separate threads, so that
    they do not wait for the database."""
    units: Callable[[Mapping[str, Any]], float] = lambda arguments: 0.0
    """Function that computes the cost of a call in units of the rate limit, in addition to the cost of the request
    itself. Its arguments are not validated yet."""
    unlisted: tuple[str, ...] = ()
    """Arguments that the tool accepts, but that are not listed for agents, to save tokens. The documents describe
    them."""
    has_view: bool = False
    """Whether the MCP App shows the tool's results, in hosts that support apps."""
    asks_first: "Tool[Any] | None" = None
    """Tool that builds the `question` to the user, for a call that cannot be undone. If the client can show a form, the
    user must confirm before the call."""
    outcome: Look | None = None
    """Function that looks up the outcome of a request, for calls with `wait`."""
    refused: str = ""
    """Sentence that is appended to errors about arguments, for example to say that no memory of a batch was stored."""
    deprecated: str | None = None
    """For a deprecated tool, a sentence that names its replacement."""


@dataclass(frozen=True, kw_only=True)
class Tool(ToolOptions, Generic[ArgumentsT]):
    """A tool for agents: its description, its options, and the function that runs it."""

    name: str
    arguments: type[ArgumentsT]
    run: Callable[[ArgumentsT, Principal, Services], Reply]

    def units_of(self, arguments: Mapping[str, Any]) -> float:
        """Return the units that a call costs in addition to the fixed cost of a request (see `domain.rate_limit`)."""
        coerced_arguments = coerce_arguments(arguments, self.schema)
        return self.units(coerced_arguments) + rate_limit.cost_of_conditions(coerced_arguments)

    @property
    def scope(self) -> Scope:
        """Scope that the caller needs."""
        if self.operates:
            return Scope.OPERATE
        return Scope.READ if self.read_only else Scope.WRITE

    def is_allowed(self, principal: Principal) -> bool:
        """Whether the caller may call the tool."""
        return not self.needs_scope or principal.may(self.scope)

    @cached_property
    def schema(self) -> dict[str, Any]:
        """JSON Schema of all arguments, including unlisted ones."""
        schema = self.arguments.model_json_schema()
        definitions = schema.pop("$defs", {})
        tidy_schema: dict[str, Any] = _tidy_node(schema, definitions)
        return tidy_schema

    @cached_property
    def listing(self) -> mcp_types.Tool:
        """The tool in `tools/list`. Cached, because building schemas takes milliseconds."""
        return mcp_types.Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=_drop_unlisted(self.schema, self.unlisted),
            meta=TOOL_META if self.has_view else None,
            # The whole output schema would be too long to list. docs/reference/tools.md has the fields.
            output_schema={"type": "object"},
            annotations=mcp_types.ToolAnnotations(
                read_only_hint=self.read_only,
                # MCP defines `destructiveHint` only for tools that are not read-only.
                destructive_hint=None if self.read_only else self.destructive,
                idempotent_hint=self.idempotent or None,
                open_world_hint=False,
            ),
        )


class tool(ToolOptions):  # noqa: N801 - a decorator
    """Decorator that makes a tool from the function that runs it.

    The tool has the name of the function, and the type of the function's parameter `arguments`.
    """

    def __call__(self, run: Callable[[ArgumentsT, Principal, Services], Reply]) -> Tool[ArgumentsT]:
        """Return the tool that runs the decorated function."""
        return Tool(name=run.__name__, arguments=run.__annotations__["arguments"], run=run, **vars(self))


BOUNDS = ("minLength", "maxLength", "minItems", "maxItems")
"""Limits that are enforced but not listed, to save tokens. Errors and some descriptions name them."""
SAID_IN_WORDS: tuple[tuple[str, Any], ...] = (("default", "UTC"), ("default", "="), ("default", []))
"""Default values that the listed schemas leave out. Each is usual, or is named in the argument's description."""


def _drop_unlisted(schema: Any, unlisted: Collection[str]) -> Any:
    """Remove arguments, limits of length and some default values from a schema, to save tokens.

    `unlisted` has the names of the removed arguments, BOUNDS has the names of the removed limits, and SAID_IN_WORDS has
    the removed default values.
    """
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "object" and "properties" not in schema:
        # The argument may be any JSON object, which the strict modes of vendors cannot express. Therefore list the
        # argument as a string. The tool accepts an object, or a string with JSON, which `mcp.coerce` parses.
        schema = schema | {"type": "string"}
    visible = {k: v for k, v in schema.items() if k not in (*BOUNDS, "properties") and (k, v) not in SAID_IN_WORDS}
    members = {k: _drop_unlisted(v, unlisted) for k, v in visible.items()}
    if "properties" in schema:
        properties = schema["properties"].items()
        members["properties"] = {
            name: _drop_unlisted(value, unlisted) for name, value in properties if name not in unlisted
        }
    return members


def _drop_descriptions(schema: Any) -> Any:
    """Drop the descriptions in the schema of a list's items, because the description of the list is enough."""
    if isinstance(schema, list):
        return [_drop_descriptions(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    properties = schema.get("properties", {})
    members = {k: _drop_descriptions(v) for k, v in schema.items() if k not in ("description", "properties")}
    return members | (
        {"properties": {name: _drop_descriptions(value) for name, value in properties.items()}} if properties else {}
    )


def _tidy_node(node: Any, definitions: Mapping[str, Any]) -> Any:
    """Inline the definitions in a schema, and remove what agents do not need.

    Agents do not need the generated titles, the docstrings of models, and the default value null.
    `additionalProperties` is left out, because google-genai's converter fails on booleans. Unknown arguments are
    rejected nevertheless.

    The type null of optional arguments is left out, too, although `mcp.coerce` accepts null for them. AutoGen, Semantic
    Kernel and DSPy fail on a list of types, and Gemini's models on `anyOf` with a description.
    """
    if isinstance(node, list):
        return [_tidy_node(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if reference := node.get("$ref"):
        target = {k: v for k, v in definitions[reference.split("/")[-1]].items() if k != "description"}
        node = target | {k: v for k, v in node.items() if k != "$ref"}
    options = node.get("anyOf", [])
    if len(options) == 2 and {"type": "null"} in options and node.get("default", ...) is None:
        (present,) = (option for option in options if option != {"type": "null"})
        return _tidy_node({k: v for k, v in node.items() if k not in ("anyOf", "default")} | present, definitions)
    members = {k: v for k, v in node.items() if k not in ("title", "additionalProperties")}
    if isinstance(items := members.get("items"), dict) and "$ref" in items:
        members["items"] = _drop_descriptions(_tidy_node(items, definitions))
    if members.get("type") == "object" and "properties" in members:
        members.pop("description", None)
    properties = members.pop("properties", None)
    result = {k: _tidy_node(v, definitions) for k, v in members.items()}
    if properties is not None:
        result["properties"] = {name: _tidy_node(value, definitions) for name, value in properties.items()}
    return result
