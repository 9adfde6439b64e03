"""PostgreSQL servers in temporary folders: one whose owner is a superuser, and one like Cloud SQL."""

import os
import pwd
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from mnemosyne.adapters.database import migrations
from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne.cli.local import postgres
from mnemosyne.cli.local.data_dir import is_root
from mnemosyne.cli.local.traversal import grant_traversal
from mnemosyne.errors import MnemosyneError
from tests.fakes import FAKE_SPACE
from tests.servers.programs import embedded
from tests.shared_database import TABLES, deletion
from tests.waiting import wait_until

# These settings make the server faster, because its data need not survive a crash.
_CONFIGURATION = """
listen_addresses = ''
unix_socket_directories = '{home}'
fsync = off
synchronous_commit = off
full_page_writes = off
shared_buffers = '64MB'
max_connections = 60
max_wal_size = '128MB'
log_min_messages = fatal
"""


# The users of the database of `mnemosyne dev`, each with the function whose role it gets. The first has all roles.
LOGINS = {
    postgres.RUNTIME_USER: "",
    **{function: function for function in ("mcp", "ingest", "dead_letter", "import_object", "auth")},
}

# Built-in users on Cloud SQL: the owner, whom Terraform creates, and the user that each new instance has.
BUILT_IN = {postgres.OWNER: "mnemosyne-owner", "other owner": "postgres"}


class Server:
    """A server and its database `mnemosyne`. Methods take users by their names in `mnemosyne dev`."""

    superuser = postgres.OWNER
    locale = "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8"

    def __init__(self, name: str, programs: Path, directory: Path) -> None:
        self.name = name
        self.programs = programs
        self.socket_directory = directory
        self._environment = {**os.environ, "LC_ALL": "C"}
        self._process: subprocess.Popen[bytes] | None = None
        self._has_schema = False

    def login(self, user: str) -> str:
        """Return the name that the user has on this server."""
        return user

    def url(self, user: str, database: str = postgres.DATABASE) -> str:
        """Return the URL with which the user connects to the database."""
        return f"postgresql://{quote(self.login(user), safe='')}@/{database}?host={self.socket_directory}"

    def start(self) -> None:
        """Start the server, with its users and an empty database `mnemosyne`."""
        data = self.socket_directory / "data"
        user = self._let_in()
        command: list[str | Path] = [self.programs / "initdb", "--pgdata", data, "--username", self.superuser]
        options = ["--auth=trust", "--encoding=UTF8", "--no-sync", "--no-instructions"]
        subprocess.run([*command, *options], check=True, capture_output=True, env=self._environment, user=user)
        configuration = data / "postgresql.auto.conf"
        configuration.write_text(configuration.read_text() + _CONFIGURATION.format(home=self.socket_directory))
        with (self.socket_directory / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [self.programs / "postgres", "-D", data], stdout=log, stderr=log, env=self._environment, user=user
            )
        wait_until(self._answers, "PostgreSQL answers")
        self.create_logins()
        self.create_database(postgres.DATABASE)

    def prepare(self) -> None:
        """Apply the schema to the database `mnemosyne`, once."""
        if not self._has_schema:
            self.apply_schema(postgres.DATABASE)
            self._has_schema = True

    def _let_in(self) -> int | None:
        """Return the id of the operating system's user as whom the server runs. None means the current user.

        PostgreSQL refuses to run as root. If the tests run as root, the server therefore runs as another user, who gets
        access to the socket directory and the programs.
        """
        if not is_root():
            return None
        embedded()  # Imports the package that the next line needs, without its warning.
        postgres.make_server_user(postgres.SERVER_USER)
        user = pwd.getpwnam(postgres.SERVER_USER).pw_uid
        os.chown(self.socket_directory, user, -1)
        grant_traversal(user, self.programs / "postgres")
        return user

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.socket_directory / "log").read_text()
        try:
            self.as_superuser("SELECT 1")
        except MnemosyneError:
            return False
        return True

    def as_superuser(self, statement: str, database: str = "postgres") -> list[list[Any]]:
        """Run a statement as the superuser. On Cloud SQL, only Google is superuser."""
        url = f"postgresql://{self.superuser}@/{database}?host={self.socket_directory}"
        connection = connection_factory(url)()
        try:
            return connection.run_file(statement)
        finally:
            connection.close()

    @contextmanager
    def connection(self, user: str, database: str) -> Iterator[Connection]:
        """Yield a connection as that user, with no limit on the time of a statement."""
        opened = connection_factory(self.url(user, database), socket_timeout=None, statement_seconds=0)()
        try:
            yield opened
        finally:
            opened.close()

    def create_database(self, name: str, template: str | None = None) -> None:
        """Create a database, empty or as a copy of another one."""
        empty = f"TEMPLATE template0 LC_COLLATE '{self.locale}' LC_CTYPE '{self.locale}'"
        # `file_copy` takes half as much CPU time as the default strategy, which writes each page to the write-ahead
        # log.
        self.as_superuser(f"CREATE DATABASE {name} {f'TEMPLATE {template}' if template else empty} STRATEGY file_copy")

    def empty(self, name: str) -> None:
        """Delete all rows that a test may have stored in a database with the schema."""
        tables = self.as_superuser(TABLES, name)
        self.as_superuser(deletion(table for (table,) in tables), name)

    def drop_database(self, name: str) -> None:
        """Drop a database and close its connections."""
        self.as_superuser(f"DROP DATABASE {name} WITH (FORCE)")

    def create_logins(self) -> None:
        """Create the users, with no right except to log in."""
        for user in LOGINS:
            self.as_superuser(f'CREATE ROLE "{self.login(user)}" LOGIN')

    def apply_schema(self, database: str) -> None:
        """Apply the schema and grant the users their roles, as the function `migrate` does."""
        with self.connection(postgres.OWNER, database) as owner:
            migrations.migrate(owner, migrations.schema_files(), space=FAKE_SPACE)
            users = [f"{function}={self.login(user)}".lstrip("=") for user, function in LOGINS.items()]
            migrations.grant_runtime_role(owner, users)

    def stop(self) -> None:
        """Stop the server."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait()


class CloudServer(Server):
    """A server with Cloud SQL's rights: the schema's owner is not a superuser and does not own the database.

    https://cloud.google.com/sql/docs/postgres/users
    """

    superuser = "cloudsqladmin"
    locale = "en_US.UTF-8"

    def __init__(self, name: str, programs: Path, directory: Path, locales: Path) -> None:
        super().__init__(name, programs, directory)
        self._environment["LOCPATH"] = str(locales)

    def login(self, user: str) -> str:
        """Return the name that the user has on Cloud SQL. Owners are built-in users, and functions are IAM users."""
        if user in BUILT_IN:
            return BUILT_IN[user]
        return f"mnemosyne-{LOGINS.get(user, user).replace('_', '-') or 'operator'}@my-project.iam"

    def create_database(self, name: str, template: str | None = None) -> None:
        """Create a database owned by cloudsqlsuperuser, as the Admin API does."""
        super().create_database(name, template)
        self.as_superuser(f"ALTER DATABASE {name} OWNER TO cloudsqlsuperuser")

    def create_logins(self) -> None:
        """Create the roles that own the schema as built-in users, and the roles of the services as IAM users."""
        self.as_superuser("CREATE ROLE cloudsqlsuperuser NOLOGIN CREATEROLE CREATEDB")
        for name in BUILT_IN.values():
            self.as_superuser(f'CREATE ROLE "{name}" LOGIN CREATEROLE CREATEDB IN ROLE cloudsqlsuperuser')
        super().create_logins()
