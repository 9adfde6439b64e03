"""`POST /quotas` of the `migrate` function: show and set quotas."""

from dataclasses import asdict
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from mnemosyne.domain.parsing import Input, Text
from mnemosyne.http.admin.request import read_request
from mnemosyne.observability import EventLog
from mnemosyne.ports.admin import QuotaStore

log = EventLog(__name__)


class QuotaRequest(Input):
    """Body of `POST /quotas`. The empty namespace is the default of all namespaces."""

    action: Literal["list", "set"]
    namespace: Annotated[Text | None, Field(max_length=200)] = None
    limits: dict[Literal["memories", "bytes", "texts_a_day"], Annotated[int, Field(ge=0, lt=2**63)] | None] = Field(
        default_factory=dict
    )

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.action == "set" and (self.namespace is None or not self.limits):
            raise ValueError("setting a quota needs namespace and limits")
        return self


def manage_quotas(body: bytes, quotas: QuotaStore) -> dict[str, Any]:
    """List or set quotas. Raises InvalidRequest."""
    request = read_request(QuotaRequest, body)
    log.info("audit", action=f"quota_{request.action}", outcome="done", namespace=request.namespace, **request.limits)
    if request.action == "set":
        quotas.set(request.namespace or "", request.limits)
        return {"namespace": request.namespace}
    return {"quotas": [{"namespace": name, **asdict(quota)} for name, quota in quotas.every(request.namespace)]}
