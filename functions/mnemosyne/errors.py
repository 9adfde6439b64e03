"""The errors that Mnemosyne raises on purpose.

    MnemosyneError
    ├── InvalidRequest   the caller can mend it: names the argument, the value, the allowed values
    │   └── TextTooLong  … because the embedding model would not read the text whole
    ├── NotFound         the thing named by id is not in the caller's namespace
    ├── OverQuota        the namespace has no room: says which limit, and when or how there is room again
    ├── OverBudget       whoever calls asks too often: come back later
    ├── Conflict         the request contradicts the present state
    ├── Unauthorized     who you are or what you may do
    ├── Unavailable      a part we depend on is away; nothing was changed, try again
    │   ├── ItemUnavailable … for this item only: the same service works for others
    │   ├── Uncertain    … and it went away while committing: it may or may not have been done
    │   └── EmbeddingModelChanged … because the memories have moved to another embedding space: embed again
    └── Misconfigured    the operator can fix it: settings or schema
        └── MigrationFailed  … because PostgreSQL refused a file of the schema: which one, and why

Adapters translate their drivers' errors into these once, `from exc`; only the edges catch them.
"""


class MnemosyneError(Exception):
    """Base of all errors raised on purpose."""


class InvalidRequest(MnemosyneError):
    """Raised when a request cannot be served as it stands; the message says how to mend it."""


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


class Unavailable(MnemosyneError):
    """Raised when a part we depend on cannot be reached; nothing was changed and a retry may succeed."""


class ItemUnavailable(Unavailable):
    """Raised when one item cannot be processed now although the service works for others; nothing was changed."""


class Uncertain(Unavailable):
    """Raised when the connection was lost while committing: look before doing it again."""


class EmbeddingModelChanged(Unavailable):
    """Raised when an embedding is of another space than the memories are in by now."""


class Misconfigured(MnemosyneError):
    """Raised when settings or schema are wrong; the message says what to set or run."""


class MigrationFailed(Misconfigured):
    """Raised when PostgreSQL refuses a file of the schema; the schema is as it was."""

    def __init__(self, file: str, sqlstate: str, message: str) -> None:
        super().__init__(f"{file} failed: {sqlstate} {message}")
        self.file = file
        self.sqlstate = sqlstate
        self.message = message
