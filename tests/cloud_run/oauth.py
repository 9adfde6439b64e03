"""The deployment with auth_mode oauth: `auth` and `mcp` at https addresses, Cloud KMS, and an identity provider."""

import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import trustme

from mnemosyne.cli.local.functions import free_port
from tests.cloud_run.identity import ALL_USERS
from tests.cloud_run.production import Production
from tests.cloud_run.service import Service
from tests.directories import server_directory
from tests.fakes_wire.kms import KEY, KmsServer
from tests.fakes_wire.openid import CLIENT_ID, CLIENT_SECRET, OpenIdProvider

DATABASE_USER = "auth@test-project.iam"


class OAuthDeployment:
    """The authorization server of a deployment. `close` ends the identity provider and Cloud KMS."""

    def __init__(self, production: Production, home: Path) -> None:
        self._exits = ExitStack()
        self.production = production
        self.provider = self._exits.enter_context(OpenIdProvider().serving())
        self.kms = self._exits.enter_context(KmsServer().serving())
        self.kms.rotate()
        production.as_owner(f'CREATE ROLE "{DATABASE_USER}" LOGIN IN ROLE mnemosyne_auth')
        authority = trustme.CA()
        self.authority = home / "authority.pem"
        authority.cert_pem.write_to_path(str(self.authority))
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("localhost").configure_cert(self._tls)
        auth_port, mcp_port = free_port(), free_port()
        self.issuer, self.url = f"https://localhost:{auth_port}", f"https://localhost:{mcp_port}/mcp"
        both = {
            "MNEMOSYNE_AUTH_MODE": "oauth",
            "MNEMOSYNE_OAUTH_ISSUER": self.issuer,
            "MNEMOSYNE_OAUTH_RESOURCES": self.url,
            "SSL_CERT_FILE": str(self.authority),
        }
        self.auth = self._service("auth", auth_port, {
            **both,
            "MNEMOSYNE_DB_USER": f"{DATABASE_USER}.gserviceaccount.com",
            "MNEMOSYNE_OAUTH_SIGNING_KEY": KEY,
            "MNEMOSYNE_KMS_ENDPOINT": self.kms.url,
            "MNEMOSYNE_OAUTH_PEOPLE": '[{"who": "@example.com"}]',
            "MNEMOSYNE_OAUTH_UPSTREAM_ISSUER": self.provider.url,
            "MNEMOSYNE_OAUTH_CLIENT_ID": CLIENT_ID,
            "MNEMOSYNE_OAUTH_CLIENT_SECRET": CLIENT_SECRET,
        })  # fmt: skip
        self.mcp = self._service("mcp", mcp_port, {**both, "MNEMOSYNE_ALLOWED_HOSTS": f"localhost:{mcp_port}"})

    def _service(self, target: str, port: int, settings: dict[str, str]) -> Service:
        return self.production.service(
            target, settings, [ALL_USERS], host=f"localhost:{port}", port=port, tls=self._tls
        )

    @property
    def trust(self) -> ssl.SSLContext:
        """A TLS context that trusts the deployment's certificate."""
        return ssl.create_default_context(cafile=str(self.authority))

    def close(self) -> None:
        """Stop the identity provider and Cloud KMS."""
        self._exits.close()


@contextmanager
def oauth_deployment(emulator: str) -> Iterator[OAuthDeployment]:
    """Start a deployment for the `with` block. At the end of the block, print the last log lines of the functions."""
    with server_directory() as home:
        production = Production(home, emulator)
        deployment = OAuthDeployment(production, home)
        try:
            yield deployment
        finally:
            deployment.close()
            production.close()
            for target in ("auth", "mcp"):
                print(target, production.printed(target)[-3500:])
