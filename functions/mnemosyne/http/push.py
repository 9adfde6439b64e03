"""What Pub/Sub pushes, raw or as CloudEvents, for `ingest` and `dead_letter` alike.

Statuses are Pub/Sub's language: 204 means done with this message for good, anything else means redeliver.
"""

import time
from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from mnemosyne.domain.memory import DeadLetter
from mnemosyne.domain.message import IngestMessage
from mnemosyne.domain.object_import import StoredObject
from mnemosyne.errors import InvalidRequest, ItemUnavailable, ServiceError, Unauthorized, Unavailable
from mnemosyne.http import body as bodies
from mnemosyne.http.health import health_routes
from mnemosyne.http.push_message import Push, read_push
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
    """`dead_letter`: store what `ingest` could not store, or keep it as a dead letter.

    A message is kept only if it is itself the cause in two attempts in a row, or if Pub/Sub would delete it within
    LAST_DAY. If a service fails, it is delivered again, so that a fault of any length makes no dead letters. No error
    of ours loses a message: no other function comes after this one.
    """
    cause, earlier = "", set[str | None]()
    if not push.expires_soon:
        try:
            message = push.decoded()
            if message.namespace:
                known = services.memories.statuses(message.namespace, message.request_ids)
                earlier = {status.error for status in known.values()}
            store(push, services)
        except ItemUnavailable as exc:
            cause = str(exc)
            if cause not in earlier:
                raise
        except ServiceError:
            raise
        except Exception as exc:
            log.exception("push_crashed", message_id=push.message.message_id)
            cause = f"a fault of our own: {type(exc).__name__}"
        else:
            return
    try:
        _bury(push, services, cause)
    except ServiceError:
        raise
    except Exception as exc:
        log.exception("push_crashed", message_id=push.message.message_id)
        dead_letter = push.dead_letter(f"a fault of our own while it was given up: {type(exc).__name__}")
        dead_letters.store_dead_letter(push.only or "", dead_letter, memories=services.memories)


def _bury(push: Push, services: SubscriberServices, cause: str) -> None:
    count = push.message.attributes.get("CloudPubSubDeadLetterSourceDeliveryCount", "several")
    message = push.decoded()
    dead_letter = push.dead_letter(message.postponed or message.lost or cause or f"given up after {count} deliveries")
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
        if push.expires_soon:
            raise InvalidRequest("the object of this notification could not be imported for several days")
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
        push = read_push(body, path)
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
        except ServiceError as exc:  # delivered again, also if an operator must act first
            log.fault("push_postponed", exc, **about, duration_ms=milliseconds(started))
            return _retry(503, str(exc))
        except Exception:  # the edge: a fault of our own is redelivered, and told with its traceback
            log.exception("push_crashed", **about, duration_ms=milliseconds(started))
            return JSONResponse({"error": "internal error"}, status_code=500)
        log.info("push_handled", **about, duration_ms=milliseconds(started))
    return Response(status_code=204)


def _retry(status: int, error: str) -> Response:
    return JSONResponse({"error": error}, status_code=status, headers={"Retry-After": RETRY_AFTER_SECONDS})
