"""What a tool is, and how its schemas are made from the models of its arguments and result."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import mcp_types
from pydantic import BaseModel, ConfigDict

from mnemosyne.domain.parsing import Input
from mnemosyne.ports import Clock, Embedder, IngestQueue, MemoryStore

ArgumentsT = TypeVar("ArgumentsT", bound=Input)


class Services(Protocol):
    """The ports a tool may use; each is built when first asked for."""

    @property
    def queue(self) -> IngestQueue: ...
    @property
    def memories(self) -> MemoryStore: ...
    @property
    def embedder(self) -> Embedder: ...
    @property
    def clock(self) -> Clock: ...


@dataclass(frozen=True, kw_only=True)
class Caller:
    """On whose behalf a tool runs."""

    namespace: str


class Result(BaseModel):
    """Base of what tools return: becomes `structuredContent`."""

    model_config = ConfigDict(frozen=True)


@dataclass(frozen=True)
class Reply:
    """A result and the text that says the same; where the text is None it is the result as compact JSON."""

    result: Result
    text: str | None = None


@dataclass(frozen=True, kw_only=True)
class Tool(Generic[ArgumentsT]):
    """One tool: what an agent reads about it, and what runs."""

    name: str
    title: str
    description: str
    arguments: type[ArgumentsT]
    result: type[Result]
    run: Callable[[ArgumentsT, Caller, Services], Reply]
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False

    def listing(self) -> mcp_types.Tool:
        """The tool as `tools/list` shows it."""
        return mcp_types.Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=_tidy(self.arguments.model_json_schema()),
            output_schema=_tidy(self.result.model_json_schema(mode="serialization")),
            annotations=mcp_types.ToolAnnotations(
                title=self.title,
                read_only_hint=self.read_only,
                destructive_hint=self.destructive,
                idempotent_hint=self.idempotent,
                open_world_hint=False,
            ),
        )


def _tidy(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema without what no agent needs: generated titles, docstrings of models, null defaults.

    An optional argument is shown with its type alone; null is understood as absent.
    """
    return {str(k): v for k, v in _tidied(dict(schema), inside_properties=False).items()}


def _tidied(node: Any, *, inside_properties: bool) -> Any:
    if isinstance(node, list):
        return [_tidied(item, inside_properties=False) for item in node]
    if not isinstance(node, dict):
        return node
    if inside_properties:
        return {name: _tidied(value, inside_properties=False) for name, value in node.items()}
    kept = {k: v for k, v in node.items() if k != "title" and not (k == "default" and v is None)}
    if kept.get("type") == "object":
        kept.pop("description", None)
    options = kept.get("anyOf")
    if isinstance(options, list) and "default" not in kept:
        present = [option for option in options if option != {"type": "null"}]
        if len(present) == 1 and len(options) == 2 and "default" in node:
            kept = {**{k: v for k, v in kept.items() if k != "anyOf"}, **present[0]}
    return {k: _tidied(v, inside_properties=k in ("properties", "$defs")) for k, v in kept.items()}
