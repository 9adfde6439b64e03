"""Map an error of the embedding API to the error to raise, and tell whether one text of the call may be its cause."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mnemosyne.adapters import service_errors
from mnemosyne.adapters.embedding_error_table import EMBEDDING, NEW_KEY
from mnemosyne.adapters.service_error_tables import LOG_IN
from mnemosyne.errors import MnemosyneError, TextTooLong

if TYPE_CHECKING:
    from google.genai.errors import APIError

# Observed messages: "The input token count (25270) exceeds the maximum number of tokens allowed (2048).", "Request
# payload size exceeds the limit: 36000 bytes.", "... input is too long ...". The wording changes.
_TOO_LONG: Final = re.compile(r"token|exceed|too (long|large)", re.I)
# The operator must move the memories before changing the settings, because no Cloud Run function works while the
# settings name another embedding model than the database.
_ANOTHER_MODEL: Final = (
    "move to another model: first run `mnemosyne reembed --project MY-PROJECT --model MODEL --dimension DIMENSION`, "
    "then set embedding_model (MNEMOSYNE_EMBEDDING_MODEL) and embedding_dimension (MNEMOSYNE_EMBEDDING_DIMENSION) and "
    "run `make deploy`"
)
INVALID_KEY: Final = "the API key contains a line break, or a character that is not ASCII"
"""Description of an API key that cannot be sent in an HTTP header."""
_UNCERTAIN: Final = re.compile(r"400|404|408|413|5\d\d")


@dataclass(frozen=True)
class VertexAi:
    """Project and location in which Vertex AI serves the models.

    An empty project means the project of the default credentials. An empty location means `global`.
    """

    project: str = ""
    location: str = ""


class UncertainCauseError(Exception):
    """Raised if a call to Gemini failed and it is uncertain whether one text or the deployment is the cause.

    `error` is the error to raise if the deployment is the cause.
    """

    def __init__(self, code: int | str, message: str, error: MnemosyneError, *, concerns_all: bool) -> None:
        super().__init__(message)
        self.refuses = code in (400, 404, 413)
        """Whether the service refuses the call. False means that the service failed while it embedded the texts."""
        self.concerns_all = concerns_all
        self.error = error


@dataclass(frozen=True)
class Explanations:
    """Converts errors of the API to errors to raise.

    The messages name the model of this deployment, and the settings that its operator can change.
    """

    model: str
    dimension: int
    vertex: VertexAi | None

    def error(self, code: int | str, message: str) -> MnemosyneError:
        """Return the error to raise for an error code and message of the API.

        The table EMBEDDING says which error is raised.
        """
        vertex = self.vertex
        set_location = (
            "set embedding_location (GOOGLE_CLOUD_LOCATION) to eu, us, global or a region that offers it and run "
            "`make deploy`; else "
        )
        elsewhere = set_location if vertex else ""
        rights = (
            "run `make deploy`, which grants roles/aiplatform.user"
            if vertex
            else "let the key call the Gemini API, in its API restrictions, and remove its application restrictions"
        )
        return service_errors.error(
            EMBEDDING,
            code,
            message,
            model=self.model,
            dimension=self.dimension,
            where=f"at {vertex.location or 'global'}" if vertex else "with this API key",
            project=vertex.project if vertex and vertex.project else "of the credentials",
            elsewhere=elsewhere,
            another=_ANOTHER_MODEL,
            api="run `make deploy`, which enables aiplatform.googleapis.com"
            if vertex
            else "enable generativelanguage.googleapis.com in the project of the API key",
            rights=rights,
            credentials=LOG_IN if vertex else f"{NEW_KEY}; or {rights}",
        )

    def uncertain_cause(self, code: int | str, message: str) -> UncertainCauseError:
        """Return the exception for a failed call whose cause may be a single text."""
        answer = service_errors.readable(message)
        description = f"the embedding service answered {code}: {answer}" if isinstance(code, int) else answer
        rule = service_errors.find(EMBEDDING, code, message)
        concerns_all = rule is not None and rule.concerns_all
        return UncertainCauseError(code, description, self.error(code, message), concerns_all=concerns_all)

    def api_error(self, error: "APIError") -> Exception:
        """Return the exception to raise for an error response of the API."""
        message = str(error.message or error.details or "no message")
        if error.code == 413 or (error.code == 400 and _TOO_LONG.search(message)):
            return TextTooLong(f"the embedding service answered {error.code}: {service_errors.readable(message)}")
        make = self.uncertain_cause if _UNCERTAIN.fullmatch(str(error.code)) else self.error
        return make(error.code, message)
