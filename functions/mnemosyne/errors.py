"""The errors that Mnemosyne raises on purpose.

    MnemosyneError
    ├── InvalidRequest   the caller can fix it: names the argument, the value, the allowed values
    │   └── TextTooLong  … because the embedding model would not read the text whole
    ├── NotFound         the thing named by id is not in the caller's namespace
    ├── OverQuota        the namespace has no room: says which limit, and when or how there is room again
    ├── OverBudget       the caller asks too often: come back later
    ├── Conflict         the request contradicts the present state
    ├── Unauthorized     who the caller is, or what the caller may do
    └── ServiceError     the deployment cannot do it now: what was accepted is postponed, reads degrade
        ├── Unavailable  a service is away; nothing was changed, try again
        │   ├── Broken   … until an operator acts: a right, a quota, a full disk, a retired model
        │   ├── StatementTimeout … because the database needs longer than a statement may take
        │   ├── ItemUnavailable … for this item only: the same service works for others
        │   ├── Uncertain       … and it went away while committing: it may or may not have been done
        │   └── EmbeddingModelChanged … because the memories have moved to another embedding space: embed again
        └── Misconfigured the operator can fix it: settings or schema
            └── MigrationFailed … because PostgreSQL refused a file of the schema: which one, and why

Adapters translate their drivers' errors into these once, `from exc`; only the edges catch them. The table of services'
errors is in `adapters.service_errors`.
"""


class MnemosyneError(Exception):
    """Base of all errors raised on purpose."""


class InvalidRequest(MnemosyneError):
    """Raised when a request cannot be served as it is; the message says how to fix it."""


class TextTooLong(InvalidRequest):
    """Raised when a text exceeds the embedding model's input: embed it in smaller chunks."""


class NotFound(MnemosyneError):
    """Raised when an id names nothing in the caller's namespace."""


class OverQuota(MnemosyneError):
    """Raised when a namespace has used up what it may hold or have embedded; nothing was done."""


class OverBudget(MnemosyneError):
    """Raised when somebody asks too often; `seconds` is when to come back."""

    def __init__(self, message: str, seconds: int) -> None:
        super().__init__(message)
        self.seconds = seconds


class Conflict(MnemosyneError):
    """Raised when a request contradicts the present state."""


class Unauthorized(MnemosyneError):
    """Raised when the caller is unknown or may not do this."""


class ServiceError(MnemosyneError):
    """Raised when the deployment cannot do something now. No request is at fault, and nothing was changed.

    `cause` says in our words what is wrong, `next_step` what the operator should check or run, and `detail` is the
    service's own answer.
    """

    needs_operator = False
    """Whether it lasts until an operator acts."""

    def __init__(self, cause: str, *, next_step: str = "", detail: str = "") -> None:
        said = f"{cause}: {next_step}" if next_step else cause
        super().__init__(f"{said} ({detail})" if detail else said)
        self.cause = cause
        self.next_step = next_step
        self.detail = detail


class Unavailable(ServiceError):
    """Raised when a service that we depend on cannot be reached; nothing was changed and a retry may succeed."""


class Broken(Unavailable):
    """Raised when a service refuses this deployment until an operator acts; nothing was changed."""

    needs_operator = True


class StatementTimeout(Unavailable):
    """Raised when a statement took longer than the database allows; nothing was changed.

    The error does not say whether the database is slow for every statement or for this one only.
    """


class ItemUnavailable(Unavailable):
    """Raised when one item cannot be processed now although the service works for others; nothing was changed.

    Only such a message becomes a dead letter after `max_delivery_attempts`.
    """


class Uncertain(Unavailable):
    """Raised when the connection was lost while committing: look before doing it again."""


class EmbeddingModelChanged(Unavailable):
    """Raised when an embedding is of another space than the memories are in by now."""


class Misconfigured(ServiceError):
    """Raised when settings or schema are wrong; the message says what to set or run."""

    needs_operator = True


class MigrationFailed(Misconfigured):
    """Raised when PostgreSQL refuses a file of the schema; the schema is as it was."""

    def __init__(self, file: str, sqlstate: str, message: str) -> None:
        super().__init__(f"{file} failed: {sqlstate} {message}")
        self.file = file
        self.sqlstate = sqlstate
        self.message = message
