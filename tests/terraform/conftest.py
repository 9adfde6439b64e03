"""The real terraform binary against the real provider's schema, offline, through the tool beside this repository."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TERRAFORM = ROOT / "terraform"
TFCHECK = ROOT.parent / "shared" / "tools" / "tfcheck" / "tfcheck"


def tfcheck(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the tool; skips loudly where it or terraform is missing."""
    if not TFCHECK.exists() or shutil.which("terraform") is None:
        pytest.skip("NOT TESTED: terraform and tfcheck are not both here")
    command = [sys.executable, str(TFCHECK), str(directory), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


class Plan:
    """What terraform would make of an empty project, and the archive it has built for that."""

    def __init__(self, text: str, archive: Path) -> None:
        self.text = text
        self.archive = archive


@pytest.fixture(scope="package")
def plan() -> Iterator[Plan]:
    done = tfcheck(TERRAFORM, "plan", "--keep", "-v", "--", "-var", "project=my-project", "-no-color")
    assert done.returncode == 0, done.stdout + done.stderr
    scratch = next(line for line in done.stdout.splitlines() if line.startswith("scratch copy: "))
    copy = Path(scratch.removeprefix("scratch copy: "))
    yield Plan(done.stdout, copy / ".terraform" / "functions.zip")
    shutil.rmtree(copy.parents[1])
