"""What Pub/Sub pushes, raw or as CloudEvents, for `ingest` and `dead_letter` alike.

Statuses are Pub/Sub's language: 204 means done with this message for good, anything else means redeliver.
"""

import base64
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

import anyio
import anyio.to_thread
import orjson
from pydantic import BaseModel, ConfigDict, Field
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from mnemosyne.domain.memory import DeadLetter
from mnemosyne.domain.message import IngestMessage, decode
from mnemosyne.domain.object_import import OBJECT_NOTIFICATION, StoredObject
from mnemosyne.domain.parsing import parse
from mnemosyne.domain.published import Published
from mnemosyne.errors import InvalidRequest, Misconfigured, Unauthorized, Unavailable
from mnemosyne.http import body as bodies
from mnemosyne.http.health import health_routes
from mnemosyne.import_ports import ImportServices
from mnemosyne.observability import EventLog, milliseconds, trace
from mnemosyne.ports import SubscriberServices
from mnemosyne.service import dead_letters, ingest, object_import, outcomes
from mnemosyne.service.authenticate import SERVERLESS_AUTHORIZATION
from mnemosyne.service.group_commit import GroupCommit
from mnemosyne.service.slices import DELIVERY_SECONDS

log = EventLog(__name__)

RETRY_AFTER_SECONDS = "10"
"""With backpressure, 429 or 503, when to come back; Pub/Sub slows down by itself."""
MEDIA_TYPES = ("application/json", "application/cloudevents+json")
PUSH_BYTES = 16 * 1024 * 1024
"""A message has 10 MB at most, which base64 makes a third longer: https://cloud.google.com/pubsub/quotas."""
_ENDPOINT = re.compile(r"/(namespaces|objects)/(.*)", re.DOTALL)


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True)

    data: str = ""
    attributes: dict[str, str] = Field(default_factory=dict)
    message_id: str = Field("", alias="messageId")
    publish_time: str = Field("", alias="publishTime")


class _Envelope(BaseModel):
    """What Pub/Sub posts: https://cloud.google.com/pubsub/docs/push#receive_push."""

    model_config = ConfigDict(frozen=True)

    message: _Message
    subscription: str = ""
    delivery_attempt: int = Field(1, alias="deliveryAttempt")


@dataclass(frozen=True)
class Push:
    """One delivery of one message."""

    message: Published
    attempt: int
    only: str | None = None
    """The namespace that the subscription is for: its publisher may write to no other."""
    of_bucket: bool = False
    """Whether the subscription is a bucket's, so that the message tells of an object."""

    def decoded(self) -> IngestMessage:
        """Return what the message asks for."""
        return decode(self.message, only=self.only)

    def dead_letter(self, cause: str) -> DeadLetter:
        """Return the message as a dead letter."""
        return DeadLetter(
            message_id=self.message.message_id,
            data=self.message.data,
            attributes=self.message.kept_attributes | ({OBJECT_NOTIFICATION: "true"} if self.of_bucket else {}),
            cause=cause,
            dead_lettered_at=datetime.now(UTC),
            letter_id=self.message.letter_id,
        )


ServicesT = TypeVar("ServicesT")
Handler = Callable[[Push, ServicesT], None]


def build_app(
    handle: Handler[ServicesT],
    services: ServicesT,
    *,
    threads: int,
    warm: Callable[[], None],
    identify: Callable[[str | None], None],
) -> Starlette:
    """Return the ASGI app of a function that takes pushes; `identify` raises Unauthorized on one that is not ours.

    At most `threads` messages are handled at a time and as many wait; more are refused with 429, so that Pub/Sub
    slows down instead of the instance filling up.
    """
    limiter, identifying = anyio.CapacityLimiter(threads), anyio.CapacityLimiter(threads)

    async def push(request: Request) -> Response:
        if limiter.statistics().tasks_waiting >= threads:
            return _retry(429, f"{threads} messages are being handled and as many wait")
        media_type = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
        if "origin" in request.headers or media_type not in MEDIA_TYPES:
            # Pub/Sub sends JSON and no Origin: this is a web page trying its luck.
            return JSONResponse({"error": "pushes are application/json, without Origin"}, status_code=403)
        try:
            if SERVERLESS_AUTHORIZATION in request.headers or len(request.headers.getlist("authorization")) > 1:
                # Cloud Run looks at this header in the other's stead, and Pub/Sub does not send it.
                raise Unauthorized("a push carries one credential, as Authorization")
            authorization = request.headers.get("authorization")
            await anyio.to_thread.run_sync(identify, authorization, limiter=identifying)
        except Unauthorized as exc:
            log.error("audit", action="push", outcome="refused", reason=str(exc))
            return JSONResponse({"error": str(exc)}, status_code=401)
        except Unavailable as exc:
            return _retry(503, str(exc))
        try:
            with anyio.fail_after(bodies.BODY_SECONDS):
                body = await bodies.read(request.receive, PUSH_BYTES)
        except TimeoutError:
            return _retry(408, f"the push did not arrive within {bodies.BODY_SECONDS} s")
        if body is None:
            return JSONResponse({"error": f"a push has at most {PUSH_BYTES:,} bytes"}, status_code=413)
        return await anyio.to_thread.run_sync(_answer, handle, body, request.url.path, services, limiter=limiter)

    app = Starlette(routes=[*health_routes(), Route("/{path:path}", push, methods=["POST"])])
    warm()
    return app


def store(push: Push, services: SubscriberServices, *, group_commit: GroupCommit[ingest.Stored] | None = None) -> None:
    """`ingest`: store what the message carries; what can never be stored fails, or is kept as a dead letter."""
    message = push.decoded()
    lost, is_over_quota = message.lost, False
    if message.namespace:
        stored = ingest.store(
            message,
            memories=services.memories,
            embedder=services.embedder,
            group_commit=group_commit,
            deadline=time.monotonic() + DELIVERY_SECONDS,
        )
        lost, is_over_quota = "; ".join(filter(None, [lost, stored.lost])), bool(stored.over_quota)
        if is_over_quota and not lost:
            dead_letter = push.dead_letter(next(iter(stored.over_quota.values())))
            dead_letters.store_over_quota(message.namespace, dead_letter, memories=services.memories)
    _conclude(push, message, push.dead_letter(lost) if lost else None, services)
    if not lost and not is_over_quota:
        dead_letters.conclude(message, push.message.letter_id, memories=services.memories)


def give_up(push: Push, services: SubscriberServices) -> None:
    """`dead_letter`: keep what could not be ingested, and record it.

    Whatever is wrong with a message, or with how it is read, it is kept: nobody comes after this.
    """
    try:
        _bury(push, services)
    except (Unavailable, Misconfigured):
        raise
    except Exception as exc:
        log.exception("push_crashed", message_id=push.message.message_id)
        dead_letter = push.dead_letter(f"a fault of our own while it was given up: {type(exc).__name__}")
        dead_letters.store_dead_letter(push.only or "", dead_letter, memories=services.memories)


def _bury(push: Push, services: SubscriberServices) -> None:
    count = push.message.attributes.get("CloudPubSubDeadLetterSourceDeliveryCount", "several")
    if push.of_bucket:
        why = f"the object of this notification could not be imported in {count} deliveries"
        dead_letters.store_dead_letter(push.only or "", push.dead_letter(why), memories=services.memories)
        return
    message = push.decoded()
    dead_letter = push.dead_letter(message.postponed or message.lost or f"given up after {count} deliveries")
    kept = (
        dead_letters.give_up(message.namespace, dead_letter, message, memories=services.memories)
        if message.request_ids
        else None
    )
    _conclude(push, message, dead_letter if message.lost or (kept and kept.lost) else None, services)
    if not message.lost and not kept:
        dead_letters.conclude(message, push.message.letter_id, memories=services.memories)


def import_object(push: Push, services: ImportServices) -> None:
    """`import_object`: read the object of a bucket that the notification tells of, on behalf of the bucket's namespace.

    What is no notification, or comes by a subscription of no namespace, is kept as a dead letter.
    """
    try:
        wanted = StoredObject.of(push.message.attributes)
        if push.only is None or not push.of_bucket:
            raise InvalidRequest("a bucket's subscription must push to /objects/NAMESPACE")
    except InvalidRequest as exc:
        dead_letters.store_dead_letter(push.only or "", push.dead_letter(str(exc)), memories=services.memories)
        return
    if wanted:
        object_import.import_object(push.only, wanted, services, message_id=push.message.message_id)


def _conclude(push: Push, message: IngestMessage, dead_letter: DeadLetter | None, services: SubscriberServices) -> None:
    """Keep the message where something in it is lost otherwise, and tell its publisher of every outcome."""
    if dead_letter:
        dead_letters.store_dead_letter(message.namespace, dead_letter, memories=services.memories)
    if services.outcome_topic:
        outcomes.announce(
            message.namespace,
            message.request_ids,
            message_id=push.message.message_id,
            dead_letter=dead_letter,
            memories=services.memories,
            topic=services.outcome_topic,
        )


def _answer(handle: Handler[ServicesT], body: bytes, path: str, services: ServicesT) -> Response:
    try:
        push = _push(body, path)
    except InvalidRequest as exc:
        # Not a message at all: nobody to record it for, and sending it again cannot help.
        log.error("push_malformed", error=str(exc))
        return JSONResponse({"error": str(exc)}, status_code=400)
    about = {
        "message_id": push.message.message_id,
        "request_id": push.message.attributes.get("request_id"),
        "delivery_attempt": push.attempt,
    }
    started = time.perf_counter()
    with trace(push.message.attributes):
        try:
            handle(push, services)
        except Unavailable as exc:
            log.warning("push_postponed", **about, error=str(exc), duration_ms=milliseconds(started))
            return _retry(503, str(exc))
        except Misconfigured as exc:  # redelivered: what the operator mends meanwhile is stored
            log.error("misconfigured", **about, error=str(exc), duration_ms=milliseconds(started))
            return _retry(503, "the function is misconfigured; its log says how")
        except Exception:  # the edge: a fault of our own is redelivered, and told with its traceback
            log.exception("push_crashed", **about, duration_ms=milliseconds(started))
            return JSONResponse({"error": "internal error"}, status_code=500)
        log.info("push_handled", **about, duration_ms=milliseconds(started))
    return Response(status_code=204)


def _retry(status: int, error: str) -> Response:
    return JSONResponse({"error": error}, status_code=status, headers={"Retry-After": RETRY_AFTER_SECONDS})


def _push(body: bytes, path: str) -> Push:
    """Return a raw push, or a CloudEvent in binary (same body) or structured mode.

    The endpoint says whose messages these are: `/namespaces/NAMESPACE` a publisher's, `/objects/NAMESPACE` a bucket's.
    """
    endpoint = _ENDPOINT.fullmatch(path)
    if endpoint and not endpoint[2].strip():
        raise InvalidRequest(f"the endpoint must name a namespace, got {path}")
    try:
        posted: Any = orjson.loads(body)
    except orjson.JSONDecodeError as exc:
        raise InvalidRequest(f"the push must be JSON: {exc}") from exc
    if isinstance(posted, dict) and "specversion" in posted:
        posted = posted.get("data")
    envelope = parse(_Envelope, posted)
    try:
        data = base64.b64decode(envelope.message.data, validate=True)
    except ValueError as exc:
        raise InvalidRequest(f"message.data must be base64: {exc}") from exc
    message = envelope.message
    published = Published(
        message_id=message.message_id, data=data, attributes=message.attributes, publish_time=message.publish_time
    )
    if endpoint is None:
        return Push(published, envelope.delivery_attempt)
    return Push(published, envelope.delivery_attempt, endpoint[2], of_bucket=endpoint[1] == "objects")
