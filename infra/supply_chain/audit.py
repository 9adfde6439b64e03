"""Look for known vulnerabilities of what is deployed, with pip-audit: `python -m supply_chain.audit`.

Fails where there are any. Where no source of advisories can be reached it says so and does not fail: a machine behind
a package mirror has none, and pip-audit by itself would say there that nothing is known.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from supply_chain.pins import DEPLOYED, ROOT, Pin, pins

PIP_AUDIT = ROOT / ".venv-supply-chain" / "bin" / "pip-audit"
SOURCES: Sequence[Sequence[str]] = (("--vulnerability-service=pypi",), ("--vulnerability-service=osv",))
UNREACHABLE = re.compile(r"requests\.exceptions\.\w+|Could not connect|not redirecting properly|ServiceError")


class NotAudited(Exception):  # noqa: N818 - it is what is said
    """No answer of this source."""


def rounds(entries: Sequence[Pin]) -> list[list[Pin]]:
    """Parts that name no package twice: pip-audit takes none at two versions, and skips those of another Python."""
    parts: list[dict[str, Pin]] = []
    for entry in entries:
        free = next((part for part in parts if entry.name not in part), None)
        if free is None:
            parts.append(free := {})
        free[entry.name] = entry
    return [list(part.values()) for part in parts]


def ask(source: Sequence[str], part: Sequence[Pin]) -> list[dict[str, Any]]:
    """Return what the source knows of each package: `vulns`, or `skip_reason`.

    Raises NotAudited where it cannot be asked.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("".join(f"{pin.name}=={pin.version}\n" for pin in part))
        file.flush()
        options = ("--no-deps", "--disable-pip", "--progress-spinner=off", "--timeout=10", "--format=json")
        command = [str(PIP_AUDIT), *source, *options, "--requirement", file.name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        answers: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except ValueError:
        if not UNREACHABLE.search(done.stderr):
            raise RuntimeError(f"pip-audit ended {done.returncode}: {done.stderr.strip()[-2000:]}") from None
        raise NotAudited from None
    if all("skip_reason" in answer for answer in answers):
        raise NotAudited
    return answers


def audit(file: Path, sources: Sequence[Sequence[str]]) -> list[str]:
    """Return the vulnerabilities, one a line, of the first source that answers; raises NotAudited where none does."""
    for source in sources:
        try:
            answers = [answer for part in rounds(pins(file)) for answer in ask(source, part)]
        except NotAudited:
            continue
        for answer in answers:
            if "skip_reason" in answer:
                print(f"NOT AUDITED: {answer['name']}: {answer['skip_reason']}", file=sys.stderr)
        return sorted({_line(answer, one) for answer in answers for one in answer.get("vulns", [])})
    raise NotAudited


def _line(answer: dict[str, Any], one: dict[str, Any]) -> str:
    mended = f"mended in {', '.join(one['fix_versions'])}" if one["fix_versions"] else "not mended yet"
    return f"{answer['name']} {answer['version']}: {one['id']}, {mended}: {one['description'][:200]}"


def main(file: Path = DEPLOYED, sources: Sequence[Sequence[str]] = SOURCES) -> None:
    """Fail where something is known."""
    try:
        found = audit(file, sources)
    except NotAudited:
        print(f"NOT AUDITED: no source of advisories can be reached, so {file.name} may have known vulnerabilities")
        return
    if found:
        sys.exit("\n".join((*found, "Raise the version in pyproject.toml, then make lock.")))


if __name__ == "__main__":
    main()
