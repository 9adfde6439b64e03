"""The version of a release is the same in each file that contains it."""

import json
import re
from pathlib import Path

import mnemosyne
from mnemosyne.mcp.server import WEBSITE

ROOT = Path(__file__).parents[2]
SERVER = json.loads((ROOT / "server.json").read_text())


def test_server_json_and_the_plugin_for_claude_code_have_the_version_of_the_code() -> None:
    plugin = json.loads((ROOT / "infra" / "claude_code_plugin" / ".claude-plugin" / "plugin.json").read_text())
    versions = [SERVER["version"], *(package["version"] for package in SERVER["packages"]), plugin["version"]]
    assert versions == [mnemosyne.__version__] * 3


def test_the_readme_has_at_most_120_lines_and_the_server_s_name_for_the_registry() -> None:
    """The MCP registry searches the package's description for the name:
    https://github.com/modelcontextprotocol/registry."""
    readme = (ROOT / "README.md").read_text()
    assert f"mcp-name: {SERVER['name']}" in readme
    assert len(readme.splitlines()) <= 120


def test_server_json_is_within_the_limits_of_the_registry() -> None:
    assert len(SERVER["description"]) <= 100
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", SERVER["name"])


def test_the_changelog_lists_the_version_with_its_date() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text()
    assert re.search(rf"(?m)^## \[{re.escape(mnemosyne.__version__)}\] - \d{{4}}-\d\d-\d\d$", changelog)


def test_each_link_between_documents_has_a_target() -> None:
    broken = []
    for page in [*ROOT.glob("*.md"), ROOT / "tests" / "PLATFORM.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
            if "://" not in target and not (page.parent / target).exists():
                broken.append(f"{page.relative_to(ROOT)}: {target}")
    assert broken == []


def test_the_glossary_has_at_most_fifty_terms() -> None:
    rows = [line for line in (ROOT / "docs" / "glossary.md").read_text().splitlines() if line.startswith("| ")]
    assert len(rows) - 1 <= 50


def test_server_json_has_the_website_of_the_server() -> None:
    assert SERVER["websiteUrl"] == SERVER["repository"]["url"] == WEBSITE


def test_server_json_asks_the_user_for_the_address_and_key_of_the_deployment() -> None:
    (remote,) = SERVER["remotes"]
    (header,) = remote["headers"]
    assert set(re.findall(r"{(\w+)}", remote["url"])) == set(remote["variables"])
    assert set(re.findall(r"{(\w+)}", header["value"])) == set(header["variables"])
    assert all(variable["isSecret"] for variable in (header, *header["variables"].values()))
