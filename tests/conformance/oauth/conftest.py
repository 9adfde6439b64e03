"""Servers with OAuth log-in (`mnemosyne dev`, and a deployment behind Cloud Run's front end) and a browser."""

import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from tests.chromium import Chromium, chromium
from tests.cloud_run.oauth import OAuthDeployment, oauth_deployment
from tests.cloud_run.production import USER
from tests.dev import DevServer, serving
from tests.oauth_person import Person


@dataclass(frozen=True)
class Place:
    """A server with OAuth log-in, with everything that a client and a person need to log in at it."""

    url: str
    issuer: str
    person: Person
    trust: ssl.SSLContext | bool = True
    environment: dict[str, str] = field(default_factory=dict)


@pytest.fixture(scope="package")
def system() -> Iterator[DevServer]:
    """`mnemosyne dev --auth-mode oauth`."""
    with serving("--auth-mode", "oauth") as server:
        yield server


@pytest.fixture(scope="module")
def deployment(emulator: str) -> Iterator[OAuthDeployment]:
    with oauth_deployment(emulator) as running:
        yield running


@pytest.fixture(scope="package")
def issuer(system: DevServer) -> str:
    return f"http://localhost:{system.port + 1}"


@pytest.fixture(scope="package")
def light() -> Iterator[Chromium]:
    """The browser, set to prefer light colours."""
    with chromium(insecure=True) as opened:
        yield opened


@pytest.fixture(scope="module")
def browser(light: Chromium) -> Iterator[Chromium]:
    """The browser without JavaScript, which no page needs."""
    light.run_scripts(allowed=False)
    light.open("data:text/html,<title>no script</title><script>document.title = 'a script'</script>")
    assert light.driver.title == "no script"
    yield light
    light.run_scripts(allowed=True)


@pytest.fixture(scope="module", params=["mnemosyne dev", pytest.param("Cloud Run", marks=pytest.mark.nightly)])
def place(request: pytest.FixtureRequest, browser: Chromium) -> Place:
    if request.param == "mnemosyne dev":
        system = request.getfixturevalue("system")
        return Place(system.url, request.getfixturevalue("issuer"), Person.at(system, browser))
    running: OAuthDeployment = request.getfixturevalue("deployment")
    person = Person(browser, lambda pages: pages.follow(USER))
    return Place(running.url, running.issuer, person, running.trust, {"NODE_EXTRA_CA_CERTS": str(running.authority)})
