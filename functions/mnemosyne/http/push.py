"""The `ingest` function's HTTP surface: Pub/Sub pushes, raw or as CloudEvents, become ingest requests.

Statuses are Pub/Sub's language: 204 means done with this message for good, anything else means redeliver.
"""

import base64
import binascii
from collections.abc import Callable
from typing import Any
from uuid import UUID

import anyio
import anyio.to_thread
import orjson
from pydantic import BaseModel, ConfigDict, Field
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from mnemosyne.domain.message import decode
from mnemosyne.domain.parsing import parse
from mnemosyne.errors import InvalidRequest, Unavailable
from mnemosyne.observability import EventLog, trace
from mnemosyne.ports import Services
from mnemosyne.service import ingest

log = EventLog(__name__)

RETRY_AFTER_SECONDS = "10"


class _PushMessage(BaseModel):
    model_config = ConfigDict(frozen=True)

    data: str = ""
    attributes: dict[str, str] = Field(default_factory=dict)
    message_id: str = Field("", alias="messageId")


class _PushEnvelope(BaseModel):
    """What Pub/Sub posts: https://cloud.google.com/pubsub/docs/push#receive_push."""

    model_config = ConfigDict(frozen=True)

    message: _PushMessage
    subscription: str = ""
    delivery_attempt: int = Field(1, alias="deliveryAttempt")


def build_app(services: Services, *, threads: int, warm: Callable[[], None]) -> Starlette:
    """The ASGI app of the `ingest` function; at most `threads` messages are being stored at a time."""
    limiter = anyio.CapacityLimiter(threads)

    async def push(request: Request) -> Response:
        body = await request.body()
        return await anyio.to_thread.run_sync(_receive, body, services, limiter=limiter)

    async def healthz(request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    app = Starlette(routes=[Route("/healthz", healthz, methods=["GET"]), Route("/{path:path}", push, methods=["POST"])])
    warm()
    return app


def _receive(body: bytes, services: Services) -> Response:
    try:
        envelope = _envelope(body)
    except InvalidRequest as exc:
        # Not a message at all: nobody to record it for, and sending it again cannot help.
        log.error("push_malformed", error=str(exc))
        return JSONResponse({"error": str(exc)}, status_code=400)
    with trace(envelope.message.attributes):
        try:
            return _store(envelope, services)
        except Unavailable as exc:
            log.warning(
                "push_postponed",
                message_id=envelope.message.message_id,
                request_id=envelope.message.attributes.get("request_id"),
                delivery_attempt=envelope.delivery_attempt,
                error=str(exc),
            )
            return JSONResponse({"error": str(exc)}, status_code=503, headers={"Retry-After": RETRY_AFTER_SECONDS})
        except Exception:  # the edge: a fault of our own is redelivered, and told with its traceback
            log.exception(
                "push_crashed",
                message_id=envelope.message.message_id,
                request_id=envelope.message.attributes.get("request_id"),
                delivery_attempt=envelope.delivery_attempt,
            )
            return JSONResponse({"error": "internal error"}, status_code=500)


def _store(envelope: _PushEnvelope, services: Services) -> Response:
    attributes = envelope.message.attributes
    try:
        message = decode(_data(envelope), attributes)
    except InvalidRequest as exc:
        _reject(attributes, exc, services)
        return Response(status_code=204)
    ingest.store(message, memories=services.memories, embedder=services.embedder)
    return Response(status_code=204)


def _reject(attributes: dict[str, str], error: InvalidRequest, services: Services) -> None:
    namespace = attributes.get("namespace", "")
    try:
        request_id = UUID(attributes.get("request_id", ""))
    except ValueError:
        log.error("push_unattributable", namespace=namespace, error=str(error))
        return
    ingest.reject(namespace, request_id, error, memories=services.memories)


def _data(envelope: _PushEnvelope) -> bytes:
    try:
        return base64.b64decode(envelope.message.data, validate=True)
    except binascii.Error as exc:
        raise InvalidRequest(f"message data must be base64: {exc}") from exc


def _envelope(body: bytes) -> _PushEnvelope:
    """The push envelope of a raw push, or of a CloudEvent in binary (same body) or structured mode."""
    try:
        posted: Any = orjson.loads(body)
    except orjson.JSONDecodeError as exc:
        raise InvalidRequest(f"the push must be JSON: {exc}") from exc
    if isinstance(posted, dict) and "specversion" in posted:
        posted = posted.get("data")
    return parse(_PushEnvelope, posted)
