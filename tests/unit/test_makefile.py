"""`make help` lists the targets."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_make_help_lists_each_target_for_people() -> None:
    (phony,) = re.findall(r"(?m)^\.PHONY: (.*)$", (ROOT / "Makefile").read_text())
    printed = subprocess.run(["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    listed = dict(line.split(maxsplit=1) for line in printed.splitlines())
    assert listed.keys() == set(phony.split()) - {"require-project"}
    assert all(sentence[0].isupper() and sentence.endswith((".", '".')) for sentence in listed.values())
