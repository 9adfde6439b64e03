"""Log-ins with API keys, and their end."""

from tests.chromium import Chromium
from tests.console.person import press, shows, type_into

# Lets all calls with the page's present token fail, as if the token had expired. Calls with other tokens go to the
# server. If the script gets the name of a tool, the token expires only at the first call of this tool, because the page
# also calls other tools without an action of the person.
REFUSE_ONE_TOKEN = """
const [tool] = arguments;
const real = window.fetch;
let [expired, isExpired] = [undefined, !tool];
Object.assign(window, { refused: 0, refreshed: 0, others: new Set() });
window.fetch = (address, asked) => {
  if (asked?.body instanceof URLSearchParams && asked.body.get("grant_type") === "refresh_token") window.refreshed += 1;
  const token = asked?.headers?.Authorization;
  if (!token) return real(address, asked);
  expired ??= token;
  isExpired ||= Boolean(asked.body?.includes?.(`"${tool}"`));
  if (token !== expired || !isExpired) {
    window.others.add(token);
    return real(address, asked);
  }
  window.refused += 1;
  const error = { jsonrpc: "2.0", id: null, error: { code: -32001, message: "the token has expired" } };
  return Promise.resolve(new Response(JSON.stringify(error), { status: 401 }));
};
"""


def use_key(browser: Chromium, key: str) -> None:
    shows(browser, "API key")
    type_into(browser, "key", key)
    press(browser, "Use the key")
