"""The offline embedder's token counts improve the ranking, and damaged or missing count files cause no error."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
import pytest

from mnemosyne.adapters.embedders.offline import OfflineEmbedder, token_counts_file

TEXTS = ["Ada said that the blue teapot leaks", "Ada said that the train was late", "Ada said hello"]


@pytest.fixture(scope="module")
def plain() -> OfflineEmbedder:
    return OfflineEmbedder()


def test_token_counts_are_kept_in_a_file_and_lower_the_weight_of_common_words(
    tmp_path: Path, plain: OfflineEmbedder
) -> None:
    (teapot,) = plain.embed_documents(["teapot"])
    OfflineEmbedder(tmp_path).for_namespace("ns").embed_documents(TEXTS * 100)
    later = OfflineEmbedder(tmp_path)
    near, before = (later.for_namespace(name).embed_query("Ada teapot") @ teapot for name in ("ns", "empty"))
    assert near > before + 0.05


def test_the_embedders_of_100_namespaces_leave_no_file_open(tmp_path: Path) -> None:
    embedder = OfflineEmbedder(tmp_path)
    embedder.embed_documents(TEXTS)  # opens the files of the model
    before = psutil.Process().num_fds()
    for n in range(100):
        embedder.for_namespace(f"ns {n}").embed_documents(TEXTS[:1])
        embedder.for_namespace(f"ns {n}").embed_query("teapot")
    assert psutil.Process().num_fds() == before
    assert len(list(tmp_path.iterdir())) == 100


def _no_directory(file: Path) -> None:
    file.parent.rmdir()
    file.parent.write_text("a file")


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda file: file.symlink_to("/dev/full"), id="full device"),
        pytest.param(Path.mkdir, id="directory"),
        pytest.param(lambda file: file.write_bytes(b"\x01\x00\x00"), id="cut short"),
        pytest.param(_no_directory, id="no directory"),
    ],
)
def test_an_unusable_count_file_does_not_change_the_vectors_of_memories(
    tmp_path: Path, plain: OfflineEmbedder, spoil: Callable[[Path], None]
) -> None:
    directory = tmp_path / "counts"
    directory.mkdir()
    spoil(token_counts_file(directory, "ns"))
    embedder = OfflineEmbedder(directory).for_namespace("ns")
    assert np.array_equal(embedder.embed_documents(TEXTS), plain.embed_documents(TEXTS))
    assert np.linalg.norm(embedder.embed_query("Ada teapot")) == pytest.approx(1.0, abs=1e-5)


EMBED = """
import sys
from pathlib import Path
from mnemosyne.adapters.embedders.offline import OfflineEmbedder
embedder = OfflineEmbedder(Path(sys.argv[1]))
for n in range(3):
    embedder.for_namespace(f"ns {n}").embed_documents([chr(code) for code in range(200, 2_000)])
    embedder.for_namespace(f"ns {n}").embed_query("teapot")
print("alive")
"""
MOUNTED = 'mount -t tmpfs -o size=64k none "$1" && shift && exec "$@"'


@pytest.mark.skipif(
    subprocess.run(["unshare", "-rm", "true"], check=False, capture_output=True).returncode != 0
    if sys.platform == "linux"
    else True,
    reason="needs a mount of its own",
)
def test_a_full_disk_does_not_end_the_process(tmp_path: Path) -> None:
    mounted = ["unshare", "-rm", "sh", "-c", MOUNTED, "sh", str(tmp_path)]
    run = subprocess.run(
        [*mounted, sys.executable, "-c", EMBED, str(tmp_path)], check=False, capture_output=True, text=True
    )
    assert (run.returncode, run.stdout.splitlines()[-1:]) == (0, ["alive"]), run.stderr
