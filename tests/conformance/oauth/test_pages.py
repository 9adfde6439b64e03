"""The authorization server's pages in a real browser: no scripts, no frames, light and dark, redirect to the client."""

import base64
import hashlib
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
from selenium.webdriver.common.by import By

from tests.chromium import Chromium, page_elsewhere
from tests.dev import DevServer
from tests.oauth_person import Callback, Person, Terminal

VERIFIER = "v" * 64
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")


def address(system: DevServer, issuer: str, redirect_uri: str) -> str:
    """Register a client, and return the address that it opens in the browser."""
    registration = {"client_name": "Notes <script>alert(1)</script>", "redirect_uris": [redirect_uri]}
    client = httpx.post(f"{issuer}/register", json=registration).json()["client_id"]
    arguments = {
        "response_type": "code", "client_id": client, "redirect_uri": redirect_uri, "code_challenge": CHALLENGE,
        "code_challenge_method": "S256", "resource": system.url, "state": "s",
    }  # fmt: skip
    return f"{issuer}/authorize?{urlencode(arguments)}"


def test_after_earlier_consent_the_log_in_redirects_to_the_client(
    system: DevServer, issuer: str, light: Chromium
) -> None:
    """The Content-Security-Policy of the log-in page must have no directive form-action.

    Chromium applies this directive also to the redirects that follow after a form is sent.
    """
    login_url = address(system, issuer, "https://client.example/callback")
    Person.at(system, light).allow(login_url)
    first = light.url
    Person.at(system, light).log_in(login_url)
    for led in (first, light.url):
        assert led.startswith("https://client.example/callback?"), led
        assert parse_qs(urlsplit(led).query).keys() == {"code", "state", "iss"}


def test_a_client_on_the_ipv6_loopback_address_gets_the_redirect(
    system: DevServer, issuer: str, light: Chromium
) -> None:
    """The directive form-action cannot name an IPv6 address.

    With it, Chromium would block the redirect to the client.
    """
    Person.at(system, light).allow(address(system, issuer, "http://[::1]:3000/callback"))
    assert light.url.startswith("http://[::1]:3000/callback?code="), light.url


def test_no_page_breaks_its_own_policy_and_a_client_s_name_is_text(
    system: DevServer, issuer: str, light: Chromium
) -> None:
    light.console()
    with Callback().serving() as listener:
        final_url = Person.at(system, light).allow(address(system, issuer, listener.url))
        assert listener.told["state"] == "s"
    assert "Allow Notes <script>alert(1)</script> to use your memory?" in final_url
    Person.at(system, light).log_in(f"{issuer}/account")
    assert "Applications with access to your memory" in light.text
    light.press("Revoke")
    assert "is revoked. It ends within 30 seconds." in light.text
    assert [line for line in light.console() if "favicon" not in line] == []


def test_the_pages_follow_the_light_or_dark_setting_of_the_browser(issuer: str, light: Chromium) -> None:
    texts = []
    for scheme in ("light", "dark"):
        light.emulate(**{"prefers-color-scheme": scheme})
        light.open(f"{issuer}/account")
        page, body = (light.driver.find_element(By.TAG_NAME, tag) for tag in ("html", "body"))
        texts.append((page.value_of_css_property("background-color"), body.value_of_css_property("color")))
    assert texts == [
        ("rgba(245, 246, 249, 1)", "rgba(22, 26, 38, 1)"),
        ("rgba(14, 17, 24, 1)", "rgba(233, 236, 244, 1)"),
    ]


def test_other_pages_cannot_frame_these_pages(system: DevServer, issuer: str, light: Chromium) -> None:
    """If another page could show the consent page in a hidden frame, it could trick a person into pressing Allow."""
    login_url = address(system, issuer, "https://client.example/callback")
    with page_elsewhere(f'<iframe src="{login_url.replace("&", "&amp;")}"></iframe>') as elsewhere:
        light.console()
        light.open(elsewhere)
        light.driver.switch_to.frame(0)
        page_text = light.text
        light.driver.switch_to.default_content()
    assert "code" not in page_text
    assert any("frame-ancestors" in line or "X-Frame-Options" in line for line in light.console())


def test_a_code_that_is_mistyped_can_be_typed_again(system: DevServer, issuer: str, light: Chromium) -> None:
    terminal = Terminal(system)
    light.open(address(system, issuer, "https://another.example/callback"))
    right = terminal.code()
    light.type("code", "AAAA-AAAA")
    light.press("Log in")
    field = light.driver.find_element(By.NAME, "code")
    described_by = light.driver.find_element(By.ID, field.get_attribute("aria-describedby") or "none")
    assert (field.get_attribute("aria-invalid"), described_by.text[:20]) == ("true", "this is not the code")
    light.type("code", right)
    light.press("Log in")
    assert "to use your memory?" in light.text
