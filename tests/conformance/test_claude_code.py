"""The plugin for Claude Code, in the real client with a scripted model, and with hooks that the test calls itself."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemosyne.cli.dev import dev
from tests.conformance.clients.run import HERE, ROOT
from tests.dev import DevServer, serving
from tests.fakes_wire.messages_api import MessagesApi
from tests.packages import npm_package
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

PLUGIN = ROOT / "infra" / "claude_code_plugin"
HOOKS = json.loads((PLUGIN / "hooks" / "hooks.json").read_text())["hooks"]
RECORDED = [json.loads(line) for line in (ROOT / "tests/data/claude_code/hooks.jsonl").read_text().splitlines()]
CLIENT = "@anthropic-ai/claude-code@2.1.330"
NOWHERE = "http://127.0.0.1:9/mcp"


@pytest.fixture(scope="module")
def claude() -> Path:
    """The client's command; skips the test with a reason if it cannot be installed."""
    return npm_package(HERE / ".clients" / "claude-code", CLIENT) / "claude"


@pytest.fixture(scope="module")
def system() -> Iterator[DevServer]:
    """`mnemosyne dev` with only the memories of these tests."""
    with serving() as server:
        yield server


@pytest.fixture
def api() -> Iterator[MessagesApi]:
    with MessagesApi("It is the seventh.").serving() as api:
        yield api


def _say(claude: Path, prompt: str, api: MessagesApi, home: Path, url: str) -> str:
    (home / "shop").mkdir(exist_ok=True)
    environ = {
        "PATH": os.environ["PATH"], "HOME": str(home), "MNEMOSYNE_URL": url, "ANTHROPIC_BASE_URL": api.url,
        "ANTHROPIC_API_KEY": "sk-ant-scripted", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }  # fmt: skip
    command: list[str | Path] = [claude, "--print", prompt, "--plugin-dir", PLUGIN]
    ended = subprocess.run(
        command, cwd=home / "shop", env=environ, capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout.strip()


def _contents(server: DevServer, folder: Path) -> list[str]:
    """Memories stored from Claude Code's sessions in a folder."""
    in_folder = {"path": "cwd", "op": "=", "values": [str(folder)]}
    result = server.call("memory_search", {"metadata": [in_folder], "limit": 100, "max_response_chars": 400_000})
    return sorted(memory["content"] for memory in result["memories"])


def test_the_client_accepts_the_plugin_and_its_marketplace(claude: Path) -> None:
    for path in (PLUGIN, ROOT):
        command: list[str | Path] = [claude, "plugin", "validate", "--strict", path]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert ended.returncode == 0, ended.stdout + ended.stderr


def test_a_prompt_of_one_session_is_stored_once_and_given_to_the_model_in_the_next(
    claude: Path, system: DevServer, api: MessagesApi, tmp_path: Path
) -> None:
    shop = tmp_path / "shop"
    assert _say(claude, "The seventh shelf holds the oolong.", api, tmp_path, system.url) == api.text
    wait_until(lambda: len(_contents(system, shop)) == 2, "prompt and answer are stored")
    api.asked.clear()
    _say(claude, "Where is the oolong?", api, tmp_path, system.url)
    prompts = " ".join(api.asked)
    assert "From long-term memory" in prompts and "The seventh shelf holds the oolong." in prompts
    expected = sorted(["The seventh shelf holds the oolong.", "Where is the oolong?", api.text, api.text])
    wait_until(lambda: len(_contents(system, shop)) == 4, "the second session is stored, and nothing that was recalled")
    assert _contents(system, shop) == expected


def test_the_client_continues_if_the_server_is_unavailable(claude: Path, api: MessagesApi, tmp_path: Path) -> None:
    assert _say(claude, "Where is the oolong?", api, tmp_path, NOWHERE) == api.text
    assert len(api.asked) == 1


def _filled(value: Any, event: dict[str, Any]) -> Any:
    """Replace each `${name}` in the input with the event's value, once, as the client does."""
    if isinstance(value, dict):
        return {name: _filled(item, event) for name, item in value.items()}
    return re.sub(r"\$\{(\w+)\}", lambda match: str(event.get(match[1], "")), value)


def _deliver(server: DevServer, event: dict[str, Any]) -> list[dict[str, Any]]:
    hooks = [hook for group in HOOKS.get(event["hook_event_name"], []) for hook in group["hooks"]]
    return [server.call(hook["tool"], _filled(hook["input"], event)) for hook in hooks]


def test_hooks_delivered_three_times_store_one_memory_per_event_and_no_recalled_text(system: DevServer) -> None:
    requests: list[str] = []
    recalled = 0
    for event in [*RECORDED, *RECORDED, *RECORDED]:
        for answer in _deliver(system, event):
            requests += [answer["request_id"]] if "request_id" in answer else []
            recalled += "hookSpecificOutput" in answer
        system.outcomes(requests[-1:])
    texts = sorted(event.get("prompt") or event.get("last_assistant_message", "") for event in RECORDED)
    assert _contents(system, Path(RECORDED[0]["cwd"])) == [text for text in texts if text]
    assert recalled
    states = [outcome["state"] for outcome in system.outcomes(requests)]
    assert states.count("stored") == 10 and states.count("duplicate") == 20


def test_without_settings_the_plugin_uses_mnemosyne_dev_on_this_machine() -> None:
    (server,) = json.loads((PLUGIN / ".mcp.json").read_text())["mcpServers"].values()
    (port,) = (option.default for option in dev.params if option.name == "port")
    assert server["url"] == f"${{MNEMOSYNE_URL:-http://127.0.0.1:{port}/mcp}}"


def test_the_plugin_consists_of_json_files_and_one_skill() -> None:
    files = [path.relative_to(PLUGIN) for path in PLUGIN.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == {".json", ".md"}
    assert [str(path) for path in files if path.name == "SKILL.md"] == ["skills/long-term-memory/SKILL.md"]
    assert {hook["type"] for groups in HOOKS.values() for group in groups for hook in group["hooks"]} == {"mcp_tool"}
