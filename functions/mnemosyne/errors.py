"""The errors that Mnemosyne raises on purpose.

    MnemosyneError
    ├── InvalidRequest   the caller can fix the request: the error names the argument, the value, the allowed values
    │   └── TextTooLong  … because the embedding model would not read the whole text
    ├── NotFound         the caller's namespace has nothing with this id
    ├── OverQuota        a limit of the namespace is exceeded: the error names the limit and the fix
    ├── OverBudget       the caller exceeded its rate limit: retry later
    ├── Conflict         the request contradicts the current state
    ├── Unauthorized     the credential is invalid, or lacks a scope
    │   └── EndedToken   … because a correctly signed token has expired, or the grant behind it has ended
    └── ServiceError     a failure of the deployment: accepted requests are retried, searches do without a failed model
        ├── Unavailable  a service cannot be reached; nothing was changed, try again
        │   ├── Broken   … until an operator fixes the cause, such as a permission, a quota or a full disk
        │   ├── StatementTimeout … because a statement took longer than allowed
        │   ├── ItemUnavailable … for this item only: the service works for other items
        │   ├── UncertainCommit … because the connection was lost during a commit, which may have succeeded
        │   ├── PartialChange … but a part of the change is committed: the error says which part
        │   ├── UncertainPublication … but the topic may have the message: publishing it again stores nothing twice
        │   └── EmbeddingModelChanged … because the memories now use another embedding model: embed the text again
        └── Misconfigured the settings or the schema are wrong: the operator can fix them
            └── MigrationFailed … because PostgreSQL rejected a file of the schema

In this tree, `…` means the description of the parent class, and the text after `…` says what the subclass adds.

Adapters translate the errors of their drivers into these errors, with `raise … from exc`. HTTP handlers, tools and the
CLI catch them. The table of service errors is in `adapters.service_errors`.
"""


class MnemosyneError(Exception):
    """Base class of the errors raised on purpose."""


class InvalidRequest(MnemosyneError):
    """Raised when a request is invalid. The message says how to fix it."""


class TextTooLong(InvalidRequest):
    """Raised when a text is too long for the embedding model. The text can be split into smaller chunks."""


class NotFound(MnemosyneError):
    """Raised when the caller's namespace has nothing with this id."""


class OverQuota(MnemosyneError):
    """Raised when a request would exceed a limit of the namespace. Nothing was changed."""


class OverBudget(MnemosyneError):
    """Raised when a caller exceeds its rate limit. The caller can try again after `seconds`."""

    def __init__(self, message: str, seconds: int) -> None:
        super().__init__(message)
        self.seconds = seconds


class Conflict(MnemosyneError):
    """Raised when a request contradicts the current state."""


class Unauthorized(MnemosyneError):
    """Raised when the caller is unknown or not allowed to do this. `detail` is for the log: callers do not see it."""

    def __init__(self, message: str, *, detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail


class EndedToken(Unauthorized):
    """Raised when a correctly signed token has expired, or its grant is revoked or expired.

    A request with such a token does not count towards the limit of rejected credentials.
    """


class ServiceError(MnemosyneError):
    """Raised when the deployment cannot do something now. The request is not the cause.

    Nothing was changed, unless the error is an UncertainCommit, PartialChange or UncertainPublication.

    `cause` is Mnemosyne's description of the error, `next_step` tells the operator what to check or run, and `detail`
    is the service's own error message.
    """

    needs_operator = False
    """Whether the error persists until an operator acts."""

    def __init__(self, cause: str, *, next_step: str = "", detail: str = "") -> None:
        message = f"{cause}: {next_step}" if next_step else cause
        super().__init__(f"{message} ({detail})" if detail else message)
        self.cause = cause
        self.next_step = next_step
        self.detail = detail


class Unavailable(ServiceError):
    """Raised when a service cannot be reached. A retry may succeed.

    Nothing was changed, unless the error is an UncertainCommit, PartialChange or UncertainPublication.
    """


class Broken(Unavailable):
    """Raised when a service rejects requests until an operator fixes the cause. Nothing was changed."""

    needs_operator = True


class StatementTimeout(Unavailable):
    """Raised when a statement took longer than allowed. Nothing was changed.

    The error does not say whether the database is slow for every statement or for this one only.
    """


class ItemUnavailable(Unavailable):
    """Raised when one message or memory cannot be processed now, although others can. Nothing was changed.

    If `max_delivery_attempts` deliveries of a message to the service `ingest` have failed, with any error, Pub/Sub
    delivers the message to the service `dead_letter`. This service tries again to store the memories of the message. If
    this fails twice in a row with ItemUnavailable, the message becomes a dead letter, which an operator can publish
    again. If it fails because a whole service is down, the message does not become a dead letter, and Pub/Sub continues
    to deliver it.
    """


class UncertainCommit(Unavailable):
    """Raised when the connection was lost during a commit. Before a retry, check whether the commit succeeded."""


class PartialChange(Unavailable):
    """Raised when a service fails after a part of a change is committed. `change` says what was changed."""

    def __init__(self, change: str, failure: ServiceError) -> None:
        # Agents see the `cause` of a PartialChange. The cause of a Misconfigured is only for the operator, so leave it
        # out.
        cause = change if isinstance(failure, Misconfigured) else f"{change} ({failure.cause})"
        super().__init__(cause, next_step=failure.next_step, detail=failure.detail)
        self.needs_operator = failure.needs_operator


class UncertainPublication(Unavailable):
    """Raised when a Pub/Sub topic has not answered, but may have accepted the message.

    The caller can publish the message again, because the same content is stored only once.
    """


class EmbeddingModelChanged(Unavailable):
    """Raised when a text's vector is from an old model, because all memories were moved to another model meanwhile."""


class Misconfigured(ServiceError):
    """Raised when settings or schema are wrong. The message says what to set or run."""

    needs_operator = True


class MigrationFailed(Misconfigured):
    """Raised when PostgreSQL rejects a file of the schema. The schema was not changed."""

    def __init__(self, file: str, sqlstate: str, message: str) -> None:
        super().__init__(f"{file} failed: {sqlstate} {message}")
        self.file = file
        self.sqlstate = sqlstate
        self.message = message
        self.next_step = (
            "the earlier version keeps running; open an issue in Mnemosyne's repository with this line, or, if `error` "
            'says "password authentication failed", raise owner_password_version and run `make deploy`'
        )
