"""`who_am_i`: describe the caller's credential."""

from datetime import datetime

from mnemosyne.domain.parsing import Input
from mnemosyne.domain.principal import Principal, Scope
from mnemosyne.mcp.tool import Reply, Result, Tool
from mnemosyne.ports.services import Services


class NoArguments(Input):
    """No arguments."""


class Credential(Result):
    """The namespace and scopes of the caller, the name and kind of its credential, its expiry and its last use."""

    namespace: str
    scopes: list[str]
    name: str
    kind: str
    expires_at: datetime | None
    last_used_at: datetime | None = None


def _who_am_i(arguments: NoArguments, principal: Principal, services: Services) -> Reply:
    return Reply(
        Credential(
            namespace=principal.namespace,
            scopes=[scope.value for scope in Scope if principal.may(scope)],
            name=principal.name or principal.id,
            kind=principal.kind,
            expires_at=principal.expires_at,
            last_used_at=principal.last_used_at,
        )
    )


WHO_AM_I = Tool(
    name="who_am_i",
    title="The caller",
    description="The namespace and scopes of the caller, and the name, kind and expiry of its credential.",
    arguments=NoArguments,
    result=Credential,
    run=_who_am_i,
    read_only=True,
    needs_database=False,
)
