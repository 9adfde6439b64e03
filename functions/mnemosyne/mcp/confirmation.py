"""Ask the user to confirm a call that cannot be undone, such as a deletion.

The server answers `input_required`, and the client repeats the call with the user's answer (MCP revision 2026-07-28).
The server keeps no state between the two calls. Confirmation prevents mistakes, but is not a security feature: if a
client cannot show a form, the server runs the call without a confirmation.
"""

from typing import Any

import mcp_types
from mcp.server.context import ServerRequestContext

SINCE = "2026-07-28"
CONFIRM = "confirm"
"""Name of the request for input, and of the only field in its form."""
FORM = {
    "type": "object",
    "properties": {CONFIRM: {"type": "boolean", "title": "Yes", "description": "There is no undo."}},
    "required": [CONFIRM],
}


def can_answer(context: ServerRequestContext[Any]) -> bool:
    """Whether the client declares that it can show a form."""
    capabilities = context.session.client_capabilities
    elicitation = capabilities.elicitation if capabilities else None
    if context.protocol_version < SINCE or elicitation is None:
        return False
    # In earlier revisions of MCP, the capability `elicitation` meant forms. Therefore a client that declares the
    # capability without details can show forms.
    return elicitation.form is not None or elicitation.url is None


def question(result: mcp_types.CallToolResult) -> mcp_types.InputRequiredResult:
    """Build the request for the user's confirmation.

    `result` contains the question to the user. An internal tool, which runs before the called tool, has built it. The
    called tool names the internal tool in its field `asks_first`.
    """
    message = (result.structured_content or {})["question"]
    form = mcp_types.ElicitRequestFormParams(message=message, requested_schema=FORM)
    return mcp_types.InputRequiredResult(
        result_type="input_required", input_requests={CONFIRM: mcp_types.ElicitRequest(params=form)}
    )


def answer_of(params: mcp_types.CallToolRequestParams) -> object | None:
    """Return the user's answer; None if the user has not been asked."""
    return (params.input_responses or {}).get(CONFIRM)


def has_agreed(answer: object) -> bool:
    """Whether the user agreed."""
    if not isinstance(answer, mcp_types.ElicitResult) or answer.action != "accept":
        return False
    return (answer.content or {}).get(CONFIRM) is True
