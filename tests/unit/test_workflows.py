"""The workflows: pinned actions and images, a release of the tagged version, and updates of every lock file."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = ROOT / ".github" / "workflows"
RELEASE: dict[str, Any] = yaml.safe_load((WORKFLOWS / "release.yaml").read_text())
RENOVATE: dict[str, Any] = json.loads((ROOT / ".github" / "renovate.json").read_text())


def test_each_action_is_pinned_to_a_commit() -> None:
    """An action must not be named by a tag, because its owner can move the tag to other code."""
    files = [*WORKFLOWS.glob("*.yaml"), ROOT / "infra/deploy/github_actions.yaml"]
    actions = [action for file in files for action in re.findall(r"uses: *(\S+)", file.read_text())]
    assert len(actions) >= 12
    assert [action for action in actions if not re.fullmatch(r"[\w-]+/[\w/-]+@[0-9a-f]{40}", action)] == []


@pytest.mark.parametrize("file", ["Containerfile", "cloudbuild.yaml", "infra/deploy/cloudbuild.yaml"])
def test_each_image_is_pinned_to_a_digest(file: str) -> None:
    images = re.findall(r"^(?:FROM| +name:) (\S+)", (ROOT / file).read_text(), re.MULTILINE)
    assert images
    assert [image for image in images if not re.search(r"@sha256:[0-9a-f]{64}$", image)] == []


def _run(step: str, directory: Path, tag: str) -> subprocess.CompletedProcess[str]:
    """Run a step of the release in a directory, for a tag."""
    (script,) = (
        build_step["run"] for build_step in RELEASE["jobs"]["build"]["steps"] if build_step.get("name") == step
    )
    environment = {"PATH": f"{directory}:/usr/local/bin:/usr/bin:/bin", "GITHUB_REF_NAME": tag}
    command = ["bash", "-eo", "pipefail", "-c", script]
    return subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)


CHANGELOG = """## [Unreleased]
- later
## [1.10.0] - 2027-02-01
### Added
- ten
## [1.1.0] - 2027-01-01
- one
## [1.0.0] - 2026-12-01
"""


@pytest.mark.parametrize(
    ("tag", "notes"), [("v1.10.0", "### Added\n- ten"), ("v1.1.0", "- one"), ("v1.0.0", None), ("v1.2.0", None)]
)
def test_a_release_has_the_section_of_its_version_or_fails(tmp_path: Path, tag: str, notes: str | None) -> None:
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    completed = _run("The version's section of the changelog", tmp_path, tag)
    assert (completed.returncode == 0) == (notes is not None)
    if notes is not None:
        assert (tmp_path / "notes.md").read_text().strip() == notes


@pytest.mark.parametrize(
    ("tag", "released"), [("v1.2.3", True), ("v1.2", False), ("v1.2.3rc1", False), ("1x2x3", False)]
)
def test_a_tag_of_another_version_is_not_released(tmp_path: Path, tag: str, released: bool) -> None:
    source = tmp_path / "functions" / "mnemosyne"
    source.mkdir(parents=True)
    (source / "__init__.py").write_text('"""Text."""\n\n__version__ = "1.2.3"\n')
    assert (_run("The tag is the version of the code", tmp_path, tag).returncode == 0) == released


@pytest.mark.parametrize(("pushes", "released"), [(1, True), (0, False)])
def test_only_ci_of_a_push_lets_a_commit_be_released(tmp_path: Path, pushes: int, released: bool) -> None:
    """In this test, the nightly run of the commit has passed.

    This is not enough, because it does not run the linters.
    """
    (tmp_path / "gh").write_text(f'#!/bin/sh\ncase "$*" in *"--event push"*) echo {pushes} ;; *) echo 1 ;; esac\n')
    (tmp_path / "gh").chmod(0o755)
    assert (_run("CI has passed this commit", tmp_path, "v1.2.3").returncode == 0) == released


def test_a_nightly_run_and_the_run_of_a_push_do_not_cancel_each_other() -> None:
    concurrency = yaml.safe_load((WORKFLOWS / "ci.yaml").read_text())["concurrency"]
    assert not concurrency["cancel-in-progress"] or "${{ github.event_name }}" in concurrency["group"]


def test_each_job_of_a_release_has_only_the_rights_that_it_uses() -> None:
    assert RELEASE["permissions"] == {"contents": "read"}
    assert {name: job["permissions"] for name, job in RELEASE["jobs"].items()} == {
        "build": {"contents": "read", "actions": "read"},
        "pypi": {"id-token": "write"},
        "github": {"contents": "write"},
    }


def test_a_release_is_approved_before_it_is_published() -> None:
    jobs = RELEASE["jobs"]
    assert (jobs["pypi"]["environment"], jobs["pypi"]["needs"], jobs["github"]["needs"]) == ("pypi", "build", "pypi")


def test_every_lock_of_python_packages_is_updated() -> None:
    files = (file.relative_to(ROOT) for depth in ("", "*/", "*/*/") for file in ROOT.glob(f"{depth}*.lock"))
    locks = [str(file) for file in files if not any(part.startswith((".", "node_modules")) for part in file.parts)]
    assert len(locks) >= 4
    (pattern,) = RENOVATE["pip_requirements"]["managerFilePatterns"]
    assert [lock for lock in locks if not re.search(pattern.strip("/"), lock)] == []


def test_the_pattern_for_terraform_finds_the_version_of_every_workflow() -> None:
    (manager,) = RENOVATE["customManagers"]
    (pattern,) = (match.replace("(?<", "(?P<") for match in manager["matchStrings"])
    files = [WORKFLOWS / "ci.yaml", ROOT / "infra/deploy/github_actions.yaml"]
    versions = [re.search(pattern, file.read_text()) for file in files]
    assert all(version and re.fullmatch(r"\d+\.\d+\.\d+", version["currentValue"]) for version in versions)
