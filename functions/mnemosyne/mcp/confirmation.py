"""Ask before what cannot be undone: the answer `input_required`, and the same call again with what was answered.

Of revision 2026-07-28, whose calls stand alone: nothing is kept between the two. It spares people a mistake and is no
lock, for a client that cannot ask anybody is not asked.
"""

from typing import Any

import mcp_types
from mcp.server.context import ServerRequestContext

SINCE = "2026-07-28"
CONFIRM = "confirm"
"""The name under which the question is asked and answered, and of the one field in its form."""
FORM = {
    "type": "object",
    "properties": {CONFIRM: {"type": "boolean", "title": "Yes", "description": "There is no undo."}},
    "required": [CONFIRM],
}


def can_answer(context: ServerRequestContext[Any]) -> bool:
    """Whether the client says that it can show somebody a form."""
    capabilities = context.session.client_capabilities
    elicitation = capabilities.elicitation if capabilities else None
    if context.protocol_version < SINCE or elicitation is None:
        return False
    # One that names neither kind can show forms: that is what the capability meant before there were two.
    return elicitation.form is not None or elicitation.url is None


def question(asked: mcp_types.CallToolResult) -> mcp_types.InputRequiredResult:
    """Return the result that asks."""
    message = (asked.structured_content or {})["question"]
    form = mcp_types.ElicitRequestFormParams(message=message, requested_schema=FORM)
    return mcp_types.InputRequiredResult(
        result_type="input_required", input_requests={CONFIRM: mcp_types.ElicitRequest(params=form)}
    )


def answer_of(params: mcp_types.CallToolRequestParams) -> object | None:
    """Return what was answered; None where the question was not yet asked."""
    return (params.input_responses or {}).get(CONFIRM)


def agreed(answer: object) -> bool:
    """Whether the answer is a yes."""
    if not isinstance(answer, mcp_types.ElicitResult) or answer.action != "accept":
        return False
    return (answer.content or {}).get(CONFIRM) is True
