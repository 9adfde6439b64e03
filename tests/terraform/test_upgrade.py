"""A deployment of the release before is taken over, and a clone of the database is gone on with."""

import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.terraform.workspace import ROOT, Workspace, without_gcloud, workspace

DOMAIN = {"domain": "memory.example.com"}


@pytest.fixture(scope="module")
def before() -> Iterator[Workspace]:
    """A deployment by the release before the module was one, with a domain; skips loudly where that is not at hand."""
    commit = "cf70f4d"
    archive = subprocess.run(
        ["git", "archive", commit, "terraform", "functions", "infra"], cwd=ROOT, capture_output=True
    )
    if archive.returncode:
        pytest.skip(f"NOT TESTED: the commit {commit} is not in this clone's history")
    with tempfile.TemporaryDirectory() as home:
        subprocess.run(["tar", "-x", "-C", home], input=archive.stdout, check=True)
        (Path(home) / "bin").mkdir()
        with workspace(Path(home) / "terraform", environment=without_gcloud(Path(home) / "bin")) as made:
            made.apply(**DOMAIN)
            yield made


def test_an_upgrade_takes_over_what_is_there(before: Workspace, tmp_path: Path) -> None:
    with workspace(environment=without_gcloud(tmp_path)) as now:
        (now.directory / "terraform.tfstate").write_text((before.directory / "terraform.tfstate").read_text())
        planned = now.plan(**DOMAIN)
        assert planned.status == 2, planned.printed
        gone = [address for address, actions in now.changes().items() if "delete" in actions]
        # Rights of the build account that were wider than needed, and the archive, which is another.
        assert {re.sub(r"\[.*", "", address) for address in gone} <= {
            "module.mnemosyne.google_project_iam_member.build",
            "module.mnemosyne.google_storage_bucket_object.source",
            "module.mnemosyne.terraform_data.migrated",
        }
        now.apply(**DOMAIN)
        assert now.plan(**DOMAIN).status == 0


def test_going_back_makes_nothing_anew_either(before: Workspace) -> None:
    """An upgrade that was not applied to its end: the release before plans on its own state as ever."""
    planned = before.plan(**DOMAIN)
    assert not [actions for actions in before.changes().values() if actions == ["delete"]]
    assert planned.status in (0, 2)


def test_a_clone_that_was_imported_is_gone_on_with(tmp_path: Path) -> None:
    """As docs/deployment.md says under Restore."""
    users = {name: f"{name}@my-project.iam" for name in ("mcp", "ingest", "dead-letter")}
    imports = {
        "sql_database_instance.this": "projects/my-project/instances/clone",
        "sql_database.this": "projects/my-project/instances/clone/databases/mnemosyne",
        "sql_user.owner": "my-project/clone/mnemosyne-owner",
        **{f'sql_user.functions["{name}"]': f"my-project/clone/mnemosyne-{user}" for name, user in users.items()},
    }
    cloud = tmp_path / "cloud.json"
    with workspace(environment=without_gcloud(tmp_path) | {"TFCHECK_CLOUD": str(cloud)}) as own:
        own.apply()
        shown = json.loads(own.run("show", "-json").printed)
        (module,) = shown["values"]["root_module"]["child_modules"]
        values = {one["address"].removeprefix("module.mnemosyne.google_"): one["values"] for one in module["resources"]}
        cloned = {identity: values[address] | {"instance": "clone"} for address, identity in imports.items()}
        cloned[imports["sql_database_instance.this"]] |= {"name": "clone", "deletion_protection": True}
        for read in cloned.values():  # what no API answers
            for name in ("password_wo_version", "deletion_policy"):
                read.pop(name, None)
        cloud.write_text(json.dumps(cloned))
        own.run("state", "rm", *(f"module.mnemosyne.google_{address}" for address in imports))
        named = ("-var=project=my-project", "-var=database_instance_name=clone", "-var=owner_password_version=2")
        for address, identity in imports.items():
            own.run("import", "-input=false", *named, f"module.mnemosyne.google_{address}", identity)
        planned = own.plan(database_instance_name="clone", owner_password_version=2)
        assert planned.status == 2, planned.printed[-3000:]
        assert not [address for address, actions in own.changes().items() if "sql" in address and "delete" in actions]
        # The owner's password is sent to the clone and kept as the secret's new version, both or neither.
        assert own.changes()["module.mnemosyne.google_sql_user.owner"] == ["update"]
        assert "create" in own.changes()["module.mnemosyne.google_secret_manager_secret_version.owner_password"]
