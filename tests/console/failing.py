"""Calls of a page that fail, or that get other answers than the server's."""

from tests.chromium import Chromium

# Runs a part of a script instead of each call of a tool. It can use the call (`asked`), the function that sends it to
# the server (`real`), and the answer of a server that refuses it (`refuse`).
INTERCEPT = """
const [tool] = arguments;
const real = window.fetch;
const refuse = (status, message = "try again later") =>
  new Response(JSON.stringify({ jsonrpc: "2.0", id: 1, error: { code: -32000, message } }), { status });
window.fetch = async (...asked) => {
  if (!asked[1]?.body?.includes?.(tool)) return real(...asked);
  %s
};
"""
ALTER = """
const response = await real(...asked);
const answer = await response.json();
const content = answer.result.structuredContent;
%s
return new Response(JSON.stringify(answer), { status: response.status, headers: response.headers });
"""


def intercept(browser: Chromium, tool: str, script: str) -> None:
    """Run a script instead of each call of a tool. With an empty name, instead of each call of any tool."""
    browser.driver.execute_script(INTERCEPT % script, tool)


def alter(browser: Chromium, tool: str, script: str) -> None:
    """Let a script change `content`, the structured content of each answer of a tool."""
    intercept(browser, tool, ALTER % script)


def refuse(browser: Chromium, tool: str, status: int) -> None:
    """Let the calls of a tool fail with an HTTP status, as if the server refused them, until `calm`."""
    intercept(browser, tool, f"return window.isCalm ? real(...asked) : refuse({status});")


def calm(browser: Chromium) -> None:
    """Let all calls succeed again."""
    browser.driver.execute_script("window.isCalm = true")


def be_offline(browser: Chromium, is_offline: bool) -> None:
    """Take the browser off the network, or put it back."""
    conditions = {"offline": is_offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    browser.driver.execute_cdp_cmd("Network.enable", {})
    browser.driver.execute_cdp_cmd("Network.emulateNetworkConditions", conditions)
