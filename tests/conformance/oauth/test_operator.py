"""The operator lists and revokes grants."""

import json
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.chromium import Chromium
from tests.conformance.oauth.test_pages import VERIFIER, address
from tests.dev import COMMAND, DevServer
from tests.oauth_person import Callback, Person

pytestmark = pytest.mark.slow


def _grants(system: DevServer, *arguments: str) -> Any:
    command: list[str | Path] = [COMMAND, "grants", *arguments, "--data-dir", system.directory / "data", "--json"]
    completed = subprocess.run(command, capture_output=True, text=True, check=False)
    return json.loads(completed.stdout) if completed.returncode == 0 else completed.stderr


def test_an_operator_can_end_a_person_s_grant_for_a_client(system: DevServer, issuer: str, light: Chromium) -> None:
    with Callback().serving() as listener:
        login_url = address(system, issuer, listener.url)
        Person.at(system, light).allow(login_url)
        client_id = httpx.URL(login_url).params["client_id"]
        form = {"grant_type": "authorization_code", "code": listener.told["code"], "redirect_uri": listener.url,
                "client_id": client_id, "code_verifier": VERIFIER, "resource": system.url}  # fmt: skip
        tokens = httpx.post(f"{issuer}/token", data=form).json()
    (listed_grant,) = [grant for grant in _grants(system, "list") if grant["client_id"] == client_id]
    assert (listed_grant["person"], listed_grant["subject"], sorted(listed_grant["scopes"])) == (
        "you, at this machine",
        "local",
        ["read", "write"],
    )
    assert _grants(system, "list", "--person", "nobody") == []
    assert listed_grant["id"] in _grants(system, "revoke", "--person", listed_grant["subject"].upper())["revoked"]
    assert _grants(system, "list", "--person", listed_grant["subject"]) == []
    assert "no grant of" in _grants(system, "revoke", listed_grant["id"])
    refreshed = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"], "client_id": client_id}
    assert httpx.post(f"{issuer}/token", data=refreshed).json()["error"] == "invalid_grant"


def test_doctor_reports_the_authentication_of_the_running_dev(system: DevServer, issuer: str) -> None:
    command: list[str | Path] = [COMMAND, "doctor", "--json", "--data-dir", system.directory / "data"]
    checks = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    seen_by_check = {check["name"]: check["seen"] for check in checks}
    assert seen_by_check["authentication"] == f"oauth: {issuer} signs with 1 keys"


def test_dev_prints_that_clients_log_in_and_commands_need_a_key(system: DevServer) -> None:
    printed = system.printed()
    assert "Clients log in in a browser, with a code that is printed here. Commands need an API key" in printed
    assert "MNEMOSYNE_TOKEN=mnk_… " in printed, "the key is created before the commands that use it"
    assert f'{{"mcpServers": {{"mnemosyne": {{"url": "{system.url}"}}}}}}' in printed, "Cursor logs in with OAuth"
