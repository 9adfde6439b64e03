"""A fake of Anthropic's Messages API. Every answer is one text, which is streamed as server-sent events.

https://docs.anthropic.com/en/api/messages-streaming
"""

import json
from collections.abc import Mapping
from typing import Any

from tests.fakes_wire.http import Events, JsonServer


class MessagesApi(JsonServer):
    """Answers every request with `text`, and records the requests."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.asked: list[str] = []

    def answer(self, path: str, body: Any, headers: Mapping[str, str]) -> tuple[int, Any]:
        if not path.startswith("/v1/messages?"):
            return 404, {"type": "error", "error": {"type": "not_found_error", "message": path}}
        self.asked.append(json.dumps(body["messages"], ensure_ascii=False))
        if body.get("stream"):
            return 200, self._events(body["model"])
        return 200, self._message(body["model"], "end_turn")

    def _message(self, model: str, stop_reason: str | None) -> dict[str, Any]:
        content = [{"type": "text", "text": self.text}] if stop_reason else []
        return {
            "id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": content,
            "stop_reason": stop_reason, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
        }  # fmt: skip

    def _events(self, model: str) -> Events:
        block, text = {"type": "text", "text": ""}, {"type": "text_delta", "text": self.text}
        ended = {"stop_reason": "end_turn", "stop_sequence": None}
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": self._message(model, None)},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": text},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 1}},
            {"type": "message_stop"},
        ]
        return Events("".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events))
