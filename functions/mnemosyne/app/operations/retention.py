"""Operations on the lifetimes of a namespace's memories: the default and the maximum time until they expire."""

import time
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, model_validator

from mnemosyne.app.operations.operation import Namespace, Operation
from mnemosyne.app.operator import SystemOperator
from mnemosyne.domain.lifetime import LONGEST
from mnemosyne.domain.retention import RetentionCursor
from mnemosyne.errors import NotFound

SECONDS: Final = 30.0
"""Seconds after which an operation ends its page early. The caller continues with the next page."""
Seconds = Annotated[int, Field(ge=1, le=int(LONGEST.total_seconds()))]
NewLifetime = Seconds | Literal["none"] | None
"""A new lifetime in seconds; "none" removes the lifetime, and None does not change it."""


class ListRetention(Operation, action="retention_list"):
    """List the namespaces for which lifetimes are set, and the namespaces with memories that will expire."""

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        return {"namespaces": operator.retention.every()}


class PreviewRetention(Operation, action="retention_preview"):
    """Count the stored memories that would expire at once if the memories of the namespace had the given lifetimes."""

    namespace: Namespace = ""
    default: NewLifetime = None
    maximum: NewLifetime = None

    @model_validator(mode="after")
    def _check_fields(self) -> Self:
        if self.default is None and self.maximum is None:
            raise ValueError("give default, maximum or both")
        return self

    @property
    def _given(self) -> dict[str, int | None]:
        """The lifetimes to set, by name. A value of None removes a lifetime."""
        given = {"default": self.default, "maximum": self.maximum}
        return {name: None if new == "none" else new for name, new in given.items() if new is not None}

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        default, maximum = operator.retention.lifetimes(self.namespace)
        lifetimes = {"default": default, "maximum": maximum} | self._given
        return {"expired": operator.retention.count_expired(self.namespace, **lifetimes)}

    def audit_fields(self, answer: dict[str, Any]) -> dict[str, Any]:
        return self.model_dump()


class SetRetention(PreviewRetention, action="retention_set", changes_as_owner=True):
    """Set the lifetimes of a namespace's memories. The caller must then run ApplyRetention to update stored memories.

    The namespace '' means all namespaces for which no lifetimes are set.
    """

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        return {"namespace": self.namespace, **operator.retention.set(self.namespace, self._given)}

    def audit_fields(self, answer: dict[str, Any]) -> dict[str, Any]:
        return {name: "none" if value is None else value for name, value in answer.items()}


class ClearRetention(Operation, action="retention_clear", changes_as_owner=True):
    """Remove the lifetimes set for a namespace. The caller must then run ApplyRetention to update stored memories."""

    namespace: Namespace = ""

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        if not operator.retention.clear(self.namespace):
            raise NotFound(f"namespace {self.namespace!r} has no lifetimes of its own: see `mnemosyne retention list`")
        return {"namespace": self.namespace}

    def audit_fields(self, answer: dict[str, Any]) -> dict[str, Any]:
        return {"namespace": self.namespace}


class ApplyRetention(Operation, action="retention_apply", changes_as_owner=True, count_field="changed"):
    """Compute again when stored memories expire, a page at a time, and count the changed expiry times."""

    namespace: Namespace = ""
    after: RetentionCursor | None = None

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        deadline, changed, cursor = time.monotonic() + SECONDS, 0, self.after
        while True:
            applied = operator.retention.apply(self.namespace, cursor)
            changed, cursor = changed + applied.changed, applied.after
            if cursor is None or time.monotonic() > deadline:
                return {"changed": changed, "after": cursor}
