"""Find the commands in the documentation, and say which of them a test runs."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "reference").glob("*.md")),
    ROOT / "infra" / "adk" / "README.md",
    ROOT / "infra" / "claude_code_plugin" / "README.md",
]
SHELL = ("", "sh", "bash", "console", "shell")
ON_THE_PATH = 'export PATH="$PWD/.venv/bin:$PATH"'
"""Shell command that adds the directory of the command `mnemosyne` to the path of a terminal in a clone."""
DATA = {
    r'[{ ]*"|[{[]': "JSON",
    r"(TS|TITLE|TAGS|BODY): |\[\[\[": "a chronicle",
    r"uuid5\(": "a formula",
    r"\w+ +(=|\{)|\}": "Terraform's language",
}
"""Patterns for the beginnings of lines that are not commands, each with the kind of text in these lines. Such lines are
in code blocks that declare no language."""
RUN = (
    r"export (PATH|PUBSUB_EMULATOR_HOST)=",
    r"echo ",
    r"cp terraform/",
    r"mkdir -p ",
    r"seq \d+ > keys; mnemosyne ",
    r"(MNEMOSYNE_TOKEN=\S+ )?mnemosyne (?!(outcomes|changes) .*--follow)",
    r"(MNEMOSYNE_TOKEN=\S+ )?python3? (docs/examples|infra)/",
)
"""Beginnings of the commands that a test runs in a shell."""
NOT_RUN = {
    r"(TF_VAR_\w+=\S+ )?make ": "make prints what it would run",
    r"gcloud pubsub topics publish ": "tests/acceptance/test_publishing.py runs it",
    r"gcloud beta emulators pubsub start ": "the fixture `emulator` starts the same program",
    r"gcloud ": "works on Google Cloud; tests/terraform/test_guide.py asks gcloud whether it knows it",
    r"terraform ": "works on Google Cloud; tests/terraform/test_guide.py reads the files that it names",
    r"claude ": "a program of somebody else; tests/conformance/test_claude_code.py drives it",
    r"npx -y @modelcontextprotocol/inspector ": "needs the npm registry; tests/conformance/clients drives it",
    r"git clone |cd mnemosyne$": "needs GitHub",
    r"git checkout COMMIT$": "needs an earlier version",
    r"export MNEMOSYNE_URL=": "for `claude`",
    r"export (MNEMOSYNE|GOOGLE)_": "names a deployment; tests/terraform/test_guide.py reads the settings",
    r"MNEMOSYNE_INSTANCE_CONNECTION_NAME=\S+ mnemosyne ": "works on Google Cloud",
    r"pip install \./infra/adk$": "needs PyPI; tests/conformance/test_adk.py installs it",
    r"mnemosyne .*--project ": "works on Google Cloud; tests/integration/test_deployment_commands.py runs such",
    r"mnemosyne outcomes .*--follow": "has no end; tests/integration/test_outcomes.py follows outcomes",
    r"mnemosyne changes .*--follow": "has no end; tests/integration/test_change_feed_model.py follows changes",
    r"mnemosyne holds release ": "needs the id of a hold; tests/integration/test_holds.py releases holds",
    r"(git worktree add|cd) \.\./mnemosyne-before": "installs an earlier version from PyPI",
    r"\.\./mnemosyne-before/": "runs an earlier version",
    r"(GEMINI_API_KEY|GOOGLE_CLOUD_PROJECT)=\S+ python -m infra.benchmarks": "calls Gemini or Vertex AI",
    r"python -m infra.benchmarks.retrieval --corpus ": "tests/integration/test_retrieval_quality.py runs it",
}
"""Beginnings of the commands that no test runs, each with the reason."""


@dataclass(frozen=True)
class Command:
    """A command in a document, with the file and line."""

    document: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.document.relative_to(ROOT)}:{self.line}: {self.text}"

    @property
    def is_run(self) -> bool:
        return not self.reason and any(re.match(pattern, self.text) for pattern in RUN)

    @property
    def reason(self) -> str:
        """Reason why no test runs the command; empty if there is none."""
        return next((reason for pattern, reason in NOT_RUN.items() if re.match(pattern, self.text)), "")


def commands(document: Path) -> list[Command]:
    """Return the commands in the code blocks of a document, and in the first column of its tables of commands.

    Continued lines are joined.
    """
    text = document.read_text()
    documented = [
        Command(document, number, row[1])
        for number, line in enumerate(text.splitlines(), 1)
        if (row := re.match(r"\| `(make [^`]+)` \|", line))
    ]
    for first, language, lines in blocks(text):
        if language not in SHELL or not lines:
            continue
        joined = ""
        for number, line in enumerate(lines, first):
            if language == "" and not joined and any(re.match(pattern, line) for pattern in DATA):
                continue
            joined += line.removesuffix("\\")
            if not line.endswith("\\"):
                command = joined.removeprefix("$ ").strip()
                documented += [Command(document, number, command)] if command else []
                joined = ""
    return sorted(documented, key=lambda command: command.line)


def blocks(text: str) -> Iterator[tuple[int, str, list[str]]]:
    """Yield the number of the first line, the language and the lines of each code block, fenced or indented."""
    fence, language, block, before = "", "", list[str](), ""
    for number, line in enumerate([*text.splitlines(), ""], 1):
        opened = re.match(r" *(```+|~~~+)(\w*)", line)
        if fence:
            if opened and opened[1].startswith(fence):
                yield number - len(block), language, block
                fence, block = "", []
            else:
                block.append(line.strip() if language in SHELL else line)
        elif opened:
            fence, language = opened[1], opened[2]
        elif line.startswith("    ") and (block or not before.strip()):
            block.append(line[4:].strip())
        elif block:
            yield number - len(block), "", block
            block = []
        before = line
