import assert from "node:assert/strict";
import { test } from "node:test";
import { mergeRequests } from "../../functions/mnemosyne/http/console/static/activity.js";
import { countUnseen, failures, seen, setFailures } from "../../functions/mnemosyne/http/console/static/health.js";
import { looksAddress } from "../../functions/mnemosyne/http/console/static/overview.js";
import { loadAgain } from "../../functions/mnemosyne/http/console/static/poll.js";

const request = (id, state) => ({ request_id: id, state, updated_at: state });
const idsOf = (requests) => requests.map(({ request_id: id }) => id).join(" ");

test("a request that has left the state of a list leaves the list", () => {
  const before = ["4", "3", "2", "1", "0"].map((id) => request(id, "queued"));
  const newest = [request("4", "queued"), request("2", "queued")];
  assert.equal(idsOf(mergeRequests(before, newest, true)), "4 2", "the page is the whole list");
  assert.equal(idsOf(mergeRequests(before, newest, false)), "4 2 1 0", "older requests are on further pages");
  assert.equal(idsOf(mergeRequests(before, [], true)), "");
});

test("a request that moves to the top, because its state has changed, takes no others out of the list", () => {
  const before = ["5", "4", "3", "2", "1", "0"].map((id) => request(id, "queued"));
  const merged = mergeRequests(before, [request("1", "stored"), before[0], before[1]], false);
  assert.equal(idsOf(merged), "1 5 4 3 2 0");
  assert.equal(merged[0].state, "stored");
  assert.equal(merged[5], before[5], "what is unchanged stays the same object");
  assert.equal(idsOf(mergeRequests(before, [request("1", "stored"), request("2", "stored")], false)), "1 2 5 4 3 0");
});

for (const [counts, stats, address] of [
  [{ failed: 2, dead_lettered: 0 }, { dead_lettered: 0 }, "/activity?state=failed"],
  [{ failed: 0, dead_lettered: 1 }, { dead_lettered: 0 }, "/activity?state=dead_lettered"],
  [{ failed: 0, dead_lettered: 0 }, { dead_lettered: 1 }, "/activity?state=dead_lettered"],
  [null, { dead_lettered: 1 }, "/activity?state=dead_lettered"],
  [{ failed: 2, dead_lettered: 1 }, { dead_lettered: 1 }, "/activity"],
  [{ failed: 0, dead_lettered: 0 }, { dead_lettered: 0 }, "/activity"], // only a dead letter without a request
]) {
  test(`failures ${JSON.stringify([counts, stats])} are listed at ${address}`, () => {
    assert.equal(looksAddress(counts, stats), address);
  });
}

test("the badge counts failures that were not seen, also after earlier ones were retried", () => {
  const badge = (counts, isSeen) => {
    setFailures(counts, isSeen);
    return countUnseen(failures.get(), seen.get());
  };
  assert.equal(badge({ failed: 1, dead_lettered: 2 }), 3);
  assert.equal(badge({ failed: 1, dead_lettered: 2 }, true), 0, "the page Activity has shown them");
  assert.equal(badge({ failed: 2, dead_lettered: 2 }), 1);
  assert.equal(badge({ failed: 2 }), 1, "both dead letters were retried");
  assert.equal(badge({ failed: 2, dead_lettered: 1 }), 2, "one of them has failed again");
});

for (const [shown, pages] of [[0, 1], [50, 1], [51, 2], [120, 3], [5_000, 4]]) {
  test(`a refresh of ${shown} shown items loads ${pages} pages`, async () => {
    let loaded = 0;
    const load = async () => ({ items: Array(50).fill({}), next: `page ${(loaded += 1)}` });
    assert.equal((await loadAgain(load, shown)).items.length, pages * 50);
    assert.equal(loaded, pages);
  });
}
