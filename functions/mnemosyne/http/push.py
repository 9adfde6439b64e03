"""Push endpoint of the functions that receive Pub/Sub messages, for raw messages and CloudEvents.

Pub/Sub redelivers a message after any status other than success. Status 204 acknowledges the message.
"""

import base64
import re
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import anyio
import anyio.to_thread
import orjson
from pydantic import BaseModel, ConfigDict, Field
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from mnemosyne.domain.health import Check
from mnemosyne.domain.names import namespace_name
from mnemosyne.domain.parsing import parse
from mnemosyne.domain.pubsub_message import Published
from mnemosyne.errors import InvalidRequest, ServiceError, Unauthorized, Unavailable
from mnemosyne.http.common import body as bodies
from mnemosyne.http.common.health import deep_health, health_routes
from mnemosyne.observability import EventLog, milliseconds, trace
from mnemosyne.service.authenticate import SERVERLESS_AUTHORIZATION
from mnemosyne.service.deliveries import Push

log = EventLog(__name__)

_ENDPOINT = re.compile(r"/(namespaces|objects)/(.*)", re.DOTALL)


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True)

    data: str = ""
    attributes: dict[str, str] = Field(default_factory=dict)
    message_id: str = Field("", alias="messageId")
    publish_time: str = Field("", alias="publishTime")


class _Envelope(BaseModel):
    """Body of a push: https://cloud.google.com/pubsub/docs/push#receive_push."""

    model_config = ConfigDict(frozen=True)

    message: _Message
    subscription: str = ""
    delivery_attempt: int = Field(1, alias="deliveryAttempt")


def read_push(body: bytes, path: str) -> Push:
    """Parse a push: a raw push of Pub/Sub, or a CloudEvent in binary or structured mode.

    A CloudEvent in binary mode has the same body as a raw push. `path` is the decoded path of the URL. It names the
    namespace and the kind of message: `/namespaces/NAMESPACE` for memories of a publisher, `/objects/NAMESPACE` for
    notifications of a bucket. Raises InvalidRequest if the push or the path is invalid.
    """
    endpoint = _ENDPOINT.fullmatch(path)
    if endpoint and not namespace_name(endpoint[2]):
        raise InvalidRequest(f"the endpoint must name a namespace, got {path!r}")
    try:
        payload: Any = orjson.loads(body)
    except orjson.JSONDecodeError as exc:
        raise InvalidRequest(f"the push must be JSON: {exc}") from exc
    if isinstance(payload, dict) and "specversion" in payload:
        payload = payload.get("data")
    envelope = parse(_Envelope, payload)
    message = envelope.message
    try:
        data = base64.b64decode(message.data, validate=True)
    except ValueError as exc:
        raise InvalidRequest(f"message.data must be base64: {exc}") from exc
    published = Published(
        message_id=message.message_id, data=data, attributes=message.attributes, publish_time=message.publish_time
    )
    subscription = envelope.subscription.rpartition("/")[2]
    if endpoint is None:
        return Push(published, envelope.delivery_attempt, subscription=subscription)
    of_bucket = endpoint[1] == "objects"
    return Push(published, envelope.delivery_attempt, endpoint[2], of_bucket=of_bucket, subscription=subscription)


RETRY_AFTER_SECONDS = "10"
"""Value in seconds of the header Retry-After, which is sent with 408, 429 and 503. Pub/Sub ignores this header, but
slows down after errors."""
MEDIA_TYPES = ("application/json", "application/cloudevents+json")
DEPLOY_PUSH = "run `make deploy`, which sets the account, the audience and the format of each subscription's pushes"
PUSH_BYTES = 16 * 1024 * 1024
"""Maximum bytes of a push. A message has at most 10 MB, and base64 adds a third:
https://cloud.google.com/pubsub/quotas."""


ServicesT = TypeVar("ServicesT")
Handler = Callable[[Push, ServicesT], None]


def build_app(
    handle: Handler[ServicesT],
    services: ServicesT,
    *,
    threads: int,
    warm: Callable[[], None],
    identify: Callable[[str | None], None],
    examine: Callable[[], Sequence[Check]] = tuple,
) -> Starlette:
    """Build the ASGI app of a function with a push endpoint.

    At most `threads` messages are handled at a time, and the same number of messages can wait. Further pushes get 429,
    so that Pub/Sub slows down and the instance does not run out of memory. `identify` raises Unauthorized for a push
    that is not from this deployment's subscription. `examine` runs the checks of `/health?deep=1`, and returns their
    results.
    """
    limiter, identifying = anyio.CapacityLimiter(threads), anyio.CapacityLimiter(threads)

    async def push(request: Request) -> Response:
        if limiter.statistics().tasks_waiting >= threads:
            return _retry_response(429, f"{threads} messages are being handled and as many wait")
        media_type = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
        if "origin" in request.headers or media_type not in MEDIA_TYPES:
            # Pub/Sub sends JSON and no Origin, so this request comes from a web page.
            return JSONResponse({"error": "a push must be application/json and have no Origin"}, status_code=403)
        try:
            await anyio.to_thread.run_sync(identify, _read_credential(request), limiter=identifying)
        except Unauthorized as exc:
            return _unauthorized_response(exc)
        except Unavailable as exc:
            return _retry_response(503, str(exc))
        try:
            with anyio.fail_after(bodies.BODY_SECONDS):
                body = await bodies.read(request.receive, PUSH_BYTES)
        except TimeoutError:
            return _retry_response(408, f"the push did not arrive within {bodies.BODY_SECONDS} s")
        if body is None:
            return JSONResponse({"error": f"a push may have at most {PUSH_BYTES:,} bytes"}, status_code=413)
        return await anyio.to_thread.run_sync(
            _handle_push, handle, body, request.scope["path"], services, limiter=limiter
        )

    routes = [*health_routes(deep_health(examine, identify)), Route("/{path:path}", push, methods=["POST"])]
    app = Starlette(routes=routes)
    warm()
    return app


def _read_credential(request: Request) -> str | None:
    """Return the credential of a push. Raises Unauthorized if there are several."""
    headers = request.headers
    if SERVERLESS_AUTHORIZATION in headers or len(headers.getlist("authorization")) > 1:
        # Reject X-Serverless-Authorization, which Pub/Sub does not send. Cloud Run would check it instead of
        # Authorization.
        raise Unauthorized("a push must have one credential, in the header Authorization")
    return headers.get("authorization")


def _unauthorized_response(exc: Unauthorized) -> Response:
    about = {"reason": str(exc), "cause": str(exc), "error": exc.detail or str(exc), "next_step": DEPLOY_PUSH}
    log.error("audit", action="push", outcome="refused", **about)
    return JSONResponse({"error": str(exc)}, status_code=401)


def _handle_push(handle: Handler[ServicesT], body: bytes, path: str, services: ServicesT) -> Response:
    try:
        push = read_push(body, path)
    except InvalidRequest as exc:
        # The push is not a Pub/Sub message. No dead letter is stored, because the message's id and namespace cannot be
        # read. Each redelivery fails, too, until an operator fixes the subscription.
        log.error("push_malformed", cause="the push is not a message of Pub/Sub", error=str(exc), next_step=DEPLOY_PUSH)
        return JSONResponse({"error": str(exc)}, status_code=400)
    about: dict[str, object] = {
        "message_id": push.message.message_id,
        "request_id": push.message.attributes.get("request_id"),
    }
    if push.attempt > 1:
        about["delivery_attempt"] = push.attempt
    started = time.perf_counter()
    with trace(push.message.attributes):
        try:
            handle(push, services)
        except ServiceError as exc:  # Pub/Sub redelivers the message, even if only an operator can fix the fault
            log.fault("push_postponed", exc, **about, duration_ms=milliseconds(started))
            return _retry_response(503, str(exc))
        except Exception:  # a bug: log the traceback and let Pub/Sub redeliver
            log.exception("push_crashed", **about, duration_ms=milliseconds(started))
            return JSONResponse({"error": "internal error"}, status_code=500)
        lag = {} if push.age is None else {"lag_ms": round(push.age.total_seconds() * 1000)}
        del about["request_id"]  # leave the request id out, because the log event ingest_outcome has it
        log.info("push_handled", **about, **lag, duration_ms=milliseconds(started))
    return Response(status_code=204)


def _retry_response(status: int, error: str) -> Response:
    return JSONResponse({"error": error}, status_code=status, headers={"Retry-After": RETRY_AFTER_SECONDS})
