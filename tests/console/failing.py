"""Scripts and settings that make requests of a page fail."""

from tests.chromium import Chromium

# Lets all calls of a tool fail with an HTTP status, as if the server refused them, until `isCalm` is true.
REFUSE = """
const [tool, status] = arguments;
const real = window.fetch;
const error = { jsonrpc: "2.0", id: null, error: { code: -32000, message: "try again later" } };
window.fetch = (...asked) =>
  (!window.isCalm && asked[1]?.body?.includes?.(tool)
    ? Promise.resolve(new Response(JSON.stringify(error), { status })) : real(...asked));
"""
# Lets all calls of a tool fail with the status 503. The status arrives at once, and the body a second and a half later.
REFUSE_SLOWLY = """
const [tool] = arguments;
const real = window.fetch;
const error = JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32000, message: "try again later" } });
const send = (body) => { body.enqueue(new TextEncoder().encode(error)); body.close(); };
const slowly = () => new ReadableStream({ start: (body) => { setTimeout(() => send(body), 1500); } });
window.fetch = (...asked) =>
  (!window.isCalm && asked[1]?.body?.includes?.(tool)
    ? Promise.resolve(new Response(slowly(), { status: 503 })) : real(...asked));
"""
# Lets the second call of a tool fail. All other calls go to the server.
REFUSE_THE_SECOND = """
const [tool] = arguments;
const real = window.fetch;
const error = { jsonrpc: "2.0", id: 1, error: { code: -32000, message: "The disk is full." } };
let calls = 0;
window.fetch = (...asked) => {
  calls += asked[1]?.body?.includes(`"${tool}"`) ? 1 : 0;
  if (calls !== 2 || !asked[1]?.body?.includes(`"${tool}"`)) return real(...asked);
  return Promise.resolve(new Response(JSON.stringify(error), { status: 400 }));
};
"""


def be_offline(browser: Chromium, is_offline: bool) -> None:
    """Take the browser off the network, or put it back."""
    conditions = {"offline": is_offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    browser.driver.execute_cdp_cmd("Network.enable", {})
    browser.driver.execute_cdp_cmd("Network.emulateNetworkConditions", conditions)
