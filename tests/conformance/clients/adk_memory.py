"""Agents of Google's ADK with the memory service, in ADK's environment.

`python adk_memory.py talk|resume|scopes|awkward|lifetimes URL …`

The model is scripted: it says "Noted.", or repeats the recalled text.
"""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from typing import Any

from google.adk.agents.llm_agent import LlmAgent
from google.adk.events.event import Event
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools.preload_memory_tool import PreloadMemoryTool
from google.genai import types

from mnemosyne_adk import MemoryServiceError, MnemosyneMemoryService

APP, USER, SESSION = "tea shop", "ada@example.com", "monday"
TURNS = 60


class Scripted(BaseLlm):  # type: ignore[misc]  # ADK is in a separate environment
    """A model that repeats the recalled text. If there is none, it says "Noted" and the prompt's last line."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        prompt = "\n".join(part.text or "" for content in llm_request.contents for part in content.parts or [])
        recalled = prompt.partition("<PAST_CONVERSATIONS>")[2].partition("</PAST_CONVERSATIONS>")[0]
        reply = f"I recall: {recalled}" if recalled else f"Noted: {prompt.splitlines()[-1]}"
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=reply)]))


def runner(url: str, database: str) -> Runner:
    agent = LlmAgent(name="clerk", model=Scripted(model="scripted"), tools=[PreloadMemoryTool()])
    return Runner(
        app_name=APP,
        agent=agent,
        session_service=SqliteSessionService(database),
        memory_service=MnemosyneMemoryService(url, limit=3, wait=60),
    )


async def say(run: Runner, session: str, text: str) -> str:
    content = types.Content(role="user", parts=[types.Part(text=text)])
    answer = ""
    async for event in run.run_async(user_id=USER, session_id=session, new_message=content):
        answer += event.content.parts[0].text or "" if event.content and event.content.parts else ""
    return answer


async def talk(url: str, database: str) -> None:
    """Have a conversation, and store it repeatedly until the process is killed."""
    run = runner(url, database)
    await run.session_service.create_session(app_name=APP, user_id=USER, session_id=SESSION)
    run.agent.tools.clear()  # nothing to recall yet
    for number in range(TURNS):
        await say(run, SESSION, f"Shelf {number} holds the {'oolong' if number == 7 else f'blend {number}'}.")
    session = await run.session_service.get_session(app_name=APP, user_id=USER, session_id=SESSION)
    assert session
    print(json.dumps({"events": len(session.events)}), flush=True)
    while True:
        await run.memory_service.add_session_to_memory(session)


async def resume(url: str, database: str) -> None:
    """Store the conversation of the killed process three times, and recall it in a new session."""
    run = runner(url, database)
    service = run.memory_service
    assert service
    session = await run.session_service.get_session(app_name=APP, user_id=USER, session_id=SESSION)
    assert session
    for _ in range(3):
        await service.add_session_to_memory(session)
    await run.session_service.create_session(app_name=APP, user_id=USER, session_id="tuesday")
    reply = await say(run, "tuesday", "Which shelf holds the oolong?")
    later = await run.session_service.get_session(app_name=APP, user_id=USER, session_id="tuesday")
    assert later
    first_events = later.events[:1]
    await service.add_events_to_memory(app_name=APP, user_id=USER, events=first_events, session_id="tuesday")
    print(json.dumps({"said": reply, "stored": len(session.events) + len(first_events)}))


async def scopes(url: str) -> None:
    """Let two users of two apps say the same words.

    Each finds, rates and deletes only the memories of this user and app.
    """
    service = MnemosyneMemoryService(url, wait=60)
    whose = [(app, user) for app in ("shop", "bank") for user in ("ada", "Ada")]
    words = types.Content(role="user", parts=[types.Part(text="The code is plover.")])
    results: dict[str, Any] = {}
    for app, user in whose:
        await service.add_memory(
            app_name=app,
            user_id=user,
            memories=[MemoryEntry(content=words, author="user", timestamp="2026-05-20T12:00:00+00:00")],
            custom_metadata={"for": f"{app} {user}"},
        )
    strict = MnemosyneMemoryService(url, min_confidence="related")
    far = [
        (await searched.search_memory(app_name="shop", user_id="ada", query="zzqqx gibberish")).memories
        for searched in (service, strict)
    ]
    results["far"] = [[memory.custom_metadata["confidence"] for memory in memories] for memories in far]
    ids = {}
    for app, user in whose:
        memories = (await service.search_memory(app_name=app, user_id=user, query="plover")).memories
        results[f"{app} {user}"] = [[hit.author, hit.timestamp, hit.custom_metadata.get("for")] for hit in memories]
        ids[app, user] = memories[0].id
    await service.delete_memory(app_name="shop", user_id="ada", memory_id=ids["shop", "Ada"])
    await service.delete_memory(app_name="shop", user_id="ada", memory_id=ids["shop", "ada"])
    await service.delete_memory(app_name="shop", user_id="ada", memory_id=ids["shop", "ada"])
    results["left"] = [
        f"{app} {user}"
        for app, user in whose
        if (await service.search_memory(app_name=app, user_id=user, query="plover")).memories
    ]
    print(json.dumps(results))


async def awkward(url: str) -> None:
    """Store events that cannot be stored unchanged, and call an unavailable server."""
    service = MnemosyneMemoryService(url, wait=60)
    texts = {
        "nothing": [],
        "blank": [types.Part(text=" \n")],
        "thought": [types.Part(text="He may like tea.", thought=True)],
        "call": [types.Part(function_call=types.FunctionCall(name="load_memory", args={"query": "x"}))],
        "answer": [
            types.Part(function_response=types.FunctionResponse(name="load_memory", response={"a": "recalled"}))
        ],
        "nul": [types.Part(text="a\x00b")],
        "long": [types.Part(text=" ".join(map(str, range(40_000))))],
        "said": [types.Part(text="Tea, "), types.Part(text="please.")],
    }
    events = [
        Event(id=name, author="ada", content=types.Content(parts=parts), timestamp=datetime.now(UTC).timestamp())
        for name, parts in texts.items()
    ]
    events += [
        events[-1].model_copy(update={"id": "late", "timestamp": 1e18, "content": _content("Of no time at all.")}),
        Event(id="aloud", author="ada", input_transcription=types.Transcription(text="Said aloud.", finished=True)),
        events[-1].model_copy(update={"content": _content("Coffee, rather.")}),
    ]
    half = events[-1].model_copy(update={"id": "half", "partial": True})
    for _ in range(2):
        await service.add_events_to_memory(app_name="a", user_id="u", events=[*events, half, events[-1]])
    asked = (await service.search_memory(app_name="a", user_id="u", query="a\x00b \ud83d")).memories
    await service.delete_memory(app_name="a", user_id="u", memory_id="urn:uuid:01a21f76-7b01-7385-930c-34accc1c48e6")
    code = "none"
    away = MnemosyneMemoryService("http://127.0.0.1:9/mcp")
    try:
        await away.search_memory(app_name="a", user_id="u", query="tea")
        error = "none"
    except MemoryServiceError as exc:
        error = str(exc)
    try:
        late = MemoryEntry(content=types.Content(parts=[types.Part(text="x")]), timestamp="teatime")
        await service.add_memory(app_name="a", user_id="u", memories=[late])
        wrong = "none"
    except MemoryServiceError as exc:
        wrong, code = str(exc), exc.code
    again = MemoryEntry(content=_content("Told, deleted, told."))
    read_texts = []
    for _ in range(2):
        await service.add_memory(app_name="a", user_id="u", memories=[again])
        memories = (await service.search_memory(app_name="a", user_id="u", query="Told, deleted, told.")).memories
        read_texts.append(_text(memories[0]))
        await service.delete_memory(app_name="a", user_id="u", memory_id=memories[0].id)
    print(json.dumps({"away": error, "wrong": wrong, "code": code, "again": read_texts, "asked": len(asked) > 0}))


async def lifetimes(url: str) -> None:
    """Store one memory with each form of `ttl`, one without, and one with an invalid value."""
    service = MnemosyneMemoryService(url, wait=60)
    forms: dict[str, Any] = {
        "text": "3600s",
        "days": "30d",
        "number": 7_200,
        "timedelta": timedelta(hours=3, seconds=0.5),
        "none": None,
    }
    results: dict[str, Any] = {}
    for form, ttl in forms.items():
        entry = MemoryEntry(content=_content(f"Lifetime given as {form}."), custom_metadata={"form": form, "ttl": ttl})
        stored_at = datetime.now(UTC)
        await service.add_memory(app_name="life", user_id="u", memories=[entry])
        (hit, *_) = (await service.search_memory(app_name="life", user_id="u", query=f"lifetime {form}")).memories
        expires_at = hit.custom_metadata.get("expires_at")
        hours = expires_at and (datetime.fromisoformat(expires_at) - stored_at).total_seconds() / 3600
        results[form] = [hit.custom_metadata["form"], "ttl" in hit.custom_metadata, hours and round(hours, 1)]
    event = Event(author="ada", content=_content("An event with a lifetime."))
    await service.add_events_to_memory(app_name="life", user_id="u", events=[event], custom_metadata={"ttl": "1h"})
    (hit, *_) = (await service.search_memory(app_name="life", user_id="u", query="event with a lifetime")).memories
    results["event"] = "expires_at" in hit.custom_metadata
    try:
        soon = MemoryEntry(content=_content("Expires soon."))
        await service.add_memory(app_name="life", user_id="u", memories=[soon], custom_metadata={"ttl": "soon"})
    except MemoryServiceError as exc:
        results["invalid"] = str(exc)
    print(json.dumps(results))


def _content(text: str) -> types.Content:
    return types.Content(role="user", parts=[types.Part(text=text)])


def _text(entry: MemoryEntry) -> str:
    return entry.content.parts[0].text or "" if entry.content.parts else ""


if __name__ == "__main__":
    steps: dict[str, Any] = {
        "talk": talk,
        "resume": resume,
        "scopes": scopes,
        "awkward": awkward,
        "lifetimes": lifetimes,
    }
    asyncio.run(steps[sys.argv[1]](*sys.argv[2:]))
