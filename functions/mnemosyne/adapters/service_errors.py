"""Translate errors of services to exceptions of Mnemosyne, by the tables in `service_error_tables`.

Adapters look up an error by its code. Some rules also have a pattern that the service's message must match. The first
rule that matches decides.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from mnemosyne.errors import Broken, InvalidRequest, Misconfigured, MnemosyneError, Unavailable

UNREACHABLE: Final = "unreachable"
"""Code of an error without a response: no connection, or a timeout."""
CREDENTIALS: Final = "credentials"
"""Code of a permanent error of google-auth."""
UNUSABLE: Final = "unusable"
"""Code of an invalid response."""
PRECONDITION: Final = "precondition"
"""Code of FAILED_PRECONDITION, which has the same HTTP status as an invalid request."""
UNANSWERED: Final = "unanswered"
"""Code of a call that the service may have carried out, although there was no answer."""
DIMENSION: Final = "dimension"
"""Code of an answer whose vectors have another dimension than requested."""
_API_KEY: Final = re.compile(r"\b(?:AIza|AQ\.)[\w-]{8,}|(?<=api_key:)[^\s'\"]+")
"""Pattern of an API key, which is removed from errors. Google quotes the key in some errors, and the sender of a
request can read its error."""
_REFUSED_TOKEN: Final = re.compile(r"\bStatus: 4\d\d")
"""Pattern of google-auth's message about a refusal by the metadata server, for example because the service account does
not exist."""
MESSAGE_CHARACTERS: Final = 1_000
"""Maximum characters of a service's message in an error. A proxy may answer with a whole page of HTML, and the error is
logged and stored with each waiting request."""


class Kind(StrEnum):
    """Kind of an error of a service.

    The error concerns one item (such as a text to embed), is temporary, or lasts until an operator acts.
    """

    ITEM = "item-specific"
    """The service refuses one item, and accepts other items. The item fails."""
    TEMPORARY = "temporary"
    """The error is temporary: the same call may succeed later."""
    PERMANENT = "permanent for the deployment"
    """The error concerns the deployment's rights, quotas or resources: nothing succeeds until an operator acts."""
    MISCONFIGURED = "misconfigured"
    """The error concerns a setting or the schema: nothing succeeds until an operator corrects it."""


@dataclass(frozen=True)
class Rule:
    """The kind, the cause and the next step of the errors with certain codes and messages.

    `codes` is a pattern for the whole code, and `message` is a pattern for a part of the service's message.
    """

    codes: str
    kind: Kind
    cause: str
    next_step: str = ""
    message: str = ""
    temporary: type[Unavailable] = Unavailable
    """Exception class for an error of the kind TEMPORARY."""
    concerns_all: bool = False
    """Whether the error of an embedder concerns every text. If false, the embedder tries another text to find out."""

    def matches(self, code: str, message: str) -> bool:
        """Whether the rule matches an error."""
        return bool(re.fullmatch(self.codes, code) and re.search(self.message, message, re.IGNORECASE))

    def error(self, detail: str, context: Mapping[str, object]) -> MnemosyneError:
        """Return the error to raise. `context` has the values of the placeholders in the cause and the next step."""
        cause, next_step = (text.format_map(_Context(context)) for text in (self.cause, self.next_step))
        match self.kind:
            case Kind.ITEM:
                return InvalidRequest(f"{cause}: {detail}" if detail else cause)
            case Kind.TEMPORARY:
                return self.temporary(cause, next_step=next_step, detail=detail)
            case Kind.PERMANENT:
                return Broken(cause, next_step=next_step, detail=detail)
            case Kind.MISCONFIGURED:
                return Misconfigured(cause, next_step=next_step, detail=detail)


class _Context(dict[str, object]):
    def __missing__(self, name: str) -> str:
        return f"{{{name}}}"


def find(table: tuple[Rule, ...], code: object, message: str = "") -> Rule | None:
    """Return the first rule of a table that matches an error."""
    return next((rule for rule in table if rule.matches(str(code), message)), None)


def error(table: tuple[Rule, ...], code: object, message: str, /, **context: object) -> MnemosyneError:
    """Return the error to raise for a service's error code and message. The message becomes the detail of the error."""
    rule = find(table, code, message)
    answer = readable(message)
    detail = f"answered {code}: {answer}" if re.fullmatch(r"\d{3}", str(code)) else answer
    return rule.error(detail, context) if rule else Unavailable("an unknown error", detail=detail)


def readable(message: str) -> str:
    """Return a service's message for an error: shortened, and without API keys.

    NUL and lone surrogates are replaced, because the error is stored in PostgreSQL, which cannot store them.
    """
    text = _API_KEY.sub("…", message)
    cut = text[:MESSAGE_CHARACTERS] + ("…" if len(text) > MESSAGE_CHARACTERS else "")
    return cut.encode(errors="replace").decode().replace("\x00", "\ufffd")


def google_error(table: tuple[Rule, ...], exc: Exception, **context: object) -> MnemosyneError:
    """Return the error to raise for an exception of google-api-core, google-auth or their transport library."""
    return error(table, *google_code(exc), **context)


def google_code(exc: Exception) -> tuple[str, str]:
    """Return a code and the message of an exception.

    The code is the HTTP status. For an exception without a status, the code is CREDENTIALS or UNREACHABLE.
    """
    from google.api_core.exceptions import GoogleAPICallError
    from google.auth.exceptions import GoogleAuthError, TransportError

    if isinstance(exc, GoogleAPICallError) and exc.code is not None:
        return str(int(exc.code)), str(exc.message)
    status = getattr(getattr(exc, "response", None), "status_code", None)
    if isinstance(status, int):
        return str(status), str(exc)
    # google-auth reports a metadata server that does not answer as a RefreshError whose cause is a TransportError.
    is_unanswered = isinstance(exc.__cause__, TransportError) and not _REFUSED_TOKEN.search(str(exc.__cause__))
    is_temporary = is_unanswered or isinstance(exc, TransportError) or getattr(exc, "retryable", False)
    if isinstance(exc, GoogleAuthError) and not is_temporary:
        return CREDENTIALS, f"{type(exc).__name__}: {exc}"
    return UNREACHABLE, f"{type(exc).__name__}: {exc}" if str(exc) else type(exc).__name__
