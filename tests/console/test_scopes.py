"""The page Add for a key that may only write."""

from tests.chromium import Chromium
from tests.console.log_ins import use_key
from tests.console.person import find, press, shows, type_into
from tests.console.server import ConsoleServer

# Records the names of the tools whose calls the server refuses.
WATCH_REFUSALS = """
const real = window.fetch;
window.refusals = [];
window.fetch = async (...asked) => {
  const answer = await real(...asked);
  if (answer.status === 403) window.refusals.push(JSON.parse(asked[1].body).params.name);
  return answer;
};
"""


def test_with_only_the_write_scope_the_page_add_calls_only_tools_that_the_key_may_call(
    guarded: ConsoleServer, fresh: Chromium
) -> None:
    fresh.open(f"http://127.0.0.1:{guarded.port}/add")
    use_key(fresh, guarded.make_key("write", namespace="lee"))
    find(fresh, "#content")
    fresh.driver.execute_script(WATCH_REFUSALS)
    type_into(fresh, "content", "The hinges of the gate are of brass.")
    type_into(fresh, "add-tags", "gate,")
    type_into(fresh, "when", "2026-05-01")
    press(fresh, "Add")
    shows(fresh, "Sent to be stored")
    assert fresh.driver.execute_script("return window.refusals") == []
