"""Ranking weights tried on recorded candidates, without a database."""

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from infra.benchmarks.replay import try_weights


def _recorded(question: str, relevant: str) -> dict[str, object]:
    """Return a recorded question with three memories.

    The first memory has the best cosine. The others begin with the name of the speaker whom the question names.
    """
    rows = [
        ["a", 0, None, 0.5, 0.9, 1.0, None, None, True, 0, None, None, False],
        ["b", 0, None, 0.5, 0.8, 1.0, "Ada", None, True, 0, None, None, False],
        ["c", 0, None, 0.5, 0.1, 1.0, "Ada", None, True, 0, None, None, False],
    ]
    return {
        "collection": "tea",
        "question": question,
        "kind": "",
        "relevant": [relevant],
        "preferred": [],
        "lexical_weight": 0.0,
        "candidates": {"rows": rows, "listed": 3, "neighbours": [], "strategy": "exact+fulltext", "full": False},
    }


def _write(file: Path, recorded: dict[str, object]) -> None:
    vector = base64.b64encode(np.ones(4, dtype=np.float16).tobytes()).decode()
    memories = {memory_id: (name, vector) for memory_id, name in (("a", "first"), ("b", "second"), ("c", "third"))}
    with gzip.open(file, "wt") as lines:
        lines.write(json.dumps(recorded) + "\n")
        lines.write(json.dumps({"collection": recorded["collection"], "memories": memories}) + "\n")


@pytest.mark.parametrize(("weight", "first"), [(0.0, "first"), (0.2, "second")])
def test_a_changed_weight_changes_the_quality_that_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], weight: float, first: str
) -> None:
    file = tmp_path / "candidates.jsonl.gz"
    _write(file, _recorded("What does Ada drink?", first))
    try_weights(file, {"speaker": weight})
    changed = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("  changed"))
    assert changed.split()[-1] == "1.000", "nDCG@10 is 1 if the relevant memory comes first"


def test_candidates_without_a_field_of_this_version_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "candidates.jsonl.gz"
    recorded: Any = _recorded("tea", "first")
    recorded["candidates"]["rows"] = [row[:-1] for row in recorded["candidates"]["rows"]]
    _write(file, recorded)
    with pytest.raises(SystemExit, match="record them again"):
        try_weights(file, {"speaker": 0.2})


def test_an_unknown_weight_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "candidates.jsonl.gz"
    _write(file, _recorded("tea", "first"))
    with pytest.raises(TypeError, match="nearness"):
        try_weights(file, {"nearness": 1.0})
