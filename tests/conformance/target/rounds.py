"""Tools that ask the client for input, for the suite's input-required scenarios.

The client then calls the tool again with the input.
"""

import hashlib
import hmac
import secrets
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from tests.conformance.target.fixtures import text

KEY = secrets.token_bytes(32)


def sealed(state: str) -> str:
    """Return a signed state, so that the client cannot change it unnoticed."""
    return f"{state}.{hmac.new(KEY, state.encode(), hashlib.sha256).hexdigest()}"


def verified_state(token: str | None) -> str:
    """Return the verified state. Raises MCPError if it was changed."""
    state = (token or "").rpartition(".")[0]
    if not token or not hmac.compare_digest(sealed(state), token):
        raise MCPError(types.INVALID_PARAMS, "requestState is not as it was given out")
    return state


def form(message: str, name: str, kind: str = "string") -> types.ElicitRequest:
    """A form of one field."""
    schema = {"type": "object", "properties": {name: {"type": kind}}, "required": [name]}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def sample(message: str, tokens: int) -> types.CreateMessageRequest:
    """A request to the client's model."""
    sampling = types.SamplingMessage(role="user", content=text(message))
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[sampling], max_tokens=tokens))


NAME = form("What is your name?", "name")
ROOTS = types.ListRootsRequest()
FIRST: dict[str, dict[str, Any]] = {
    "test_input_required_result_elicitation": {"user_name": NAME},
    "test_input_required_result_sampling": {"capital_question": sample("What is the capital of France?", 100)},
    "test_input_required_result_list_roots": {"client_roots": ROOTS},
    "test_input_required_result_request_state": {"confirm": form("Please confirm", "ok", "boolean")},
    "test_input_required_result_tampered_state": {"confirm": form("Please confirm", "ok", "boolean")},
    "test_input_required_result_multiple_inputs": {
        "user_name": NAME, "greeting": sample("Generate a greeting", 50), "client_roots": ROOTS,
    },
    "test_input_required_result_multi_round": {"step1": form("Step 1: What is your name?", "name")},
    "test_input_required_result_capabilities": {"user_name": NAME, "greeting": sample("Generate a greeting", 50)},
    "test_streaming_elicitation": {"user_name": NAME},
}  # fmt: skip
WITH_STATE = frozenset(
    f"test_input_required_result_{name}"
    for name in ("request_state", "tampered_state", "multiple_inputs", "multi_round")
)
SECOND = {"step2": form("Step 2: What is your favorite color?", "color")}


def ask(requests: dict[str, Any], state: str | None = None) -> types.InputRequiredResult:
    """Return the result with which a tool asks the client for input."""
    return types.InputRequiredResult(result_type="input_required", input_requests=requests, request_state=state)


def _complete(answers: dict[str, Any]) -> bool:
    return all(not isinstance(answer, types.ElicitResult) or answer.content is not None for answer in answers.values())


def play(
    name: str, params: types.CallToolRequestParams, capabilities: types.ClientCapabilities | None
) -> types.CallToolResult | types.InputRequiredResult:
    """Handle one call of the tool: ask for the input that is missing, or return the final result."""
    requests, answers = FIRST[name], params.input_responses or {}
    if name.endswith("_capabilities"):
        can = {"user_name": "elicitation", "greeting": "sampling"}
        requests = {
            key: request for key, request in requests.items() if getattr(capabilities, can[key], None) is not None
        }
    state = sealed("1") if name in WITH_STATE else None
    if params.request_state is not None or (answers and name in WITH_STATE):
        round_ = verified_state(params.request_state)
        if name.endswith("multi_round") and round_ == "1" and "step1" in answers:
            return ask(SECOND, sealed("2"))
        requests = SECOND if round_ == "2" else requests
    if not requests.keys() <= answers.keys() or not _complete(answers):
        return ask(requests, state)
    return types.CallToolResult(content=[text(f"state-ok {answers}")])
