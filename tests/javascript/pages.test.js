// Functions of several pages: which requests, letters and memories they show, and how they name them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { auditAddress, auditFilters } from "../../functions/mnemosyne/http/console/static/audit.js";
import { checkStored } from "../../functions/mnemosyne/http/console/static/connect.js";
import { waitingLetters } from "../../functions/mnemosyne/http/console/static/dead_letters.js";
import { othersText } from "../../functions/mnemosyne/http/console/static/memory.js";
import { recentMonths } from "../../functions/mnemosyne/http/console/static/overview.js";

test("empty and unknown filters of the audit trail are left out", () => {
  assert.deepEqual(auditFilters({ person: " ada ", action: "", after: "2026-05-20", other: "x" }), {
    person: "ada",
    after: "2026-05-20",
  });
});

test("the address of the audit trail has the filters, encoded", () => {
  assert.equal(auditAddress({}), "/audit");
  assert.equal(auditAddress({ person: "a&b@example.com" }), "/audit?person=a%26b%40example.com");
});

for (const status of ["stored", "duplicate", "queued"]) {
  test(`a memory with the state ${status} is not an error`, () => assert.doesNotThrow(() => checkStored({ status })));
}
for (const [outcome, message] of [
  [{ status: "failed", error: "the namespace is full" }, "Not stored: the namespace is full"],
  [{ status: "dead_lettered" }, "Not stored: see Activity"],
]) {
  test(`a memory with the state ${outcome.status} is not stored`, () => {
    assert.throws(() => checkStored(outcome), { message });
  });
}

test("the dead letters to retry are those of all pages, without letters that are in flight", async () => {
  const letter = (id, redrivenAt = null) => ({ message_id: id, redriven_at: redrivenAt });
  const pages = {
    first: { dead_letters: [letter("1"), letter("2", "2026-05-01T00:00:00Z")], next_cursor: "second" },
    second: { dead_letters: [letter("3")], next_cursor: "third" },
    third: { dead_letters: [letter("4")], next_cursor: null },
  };
  const callTool = async (name, { cursor = "first" }) => name === "list_dead_letters" && pages[cursor];
  assert.deepEqual(await waitingLetters(callTool), { ids: ["1", "3", "4"], inFlight: 1 });
});

for (const [count, more, text] of [
  [1, [], "another one"], [2, [], "2 others"], [50, ["ratings"], "50 others"],
  [50, ["supersedes"], "more than 50 others"],
]) {
  test(`a memory replaces ${text}`, () =>
    assert.equal(othersText({ supersedes: Array(count).fill({}), more }), text));
}

const NOW = new Date(2026, 10, 30, 12);
const months = (...starts) => recentMonths(starts.map((start, index) => ({ start, memories: index + 1 })), NOW);

test("the chart of the overview has the twelve months up to the present one", () => {
  const chart = months("2025-11-01", "2025-12-01", "2026-11-01");
  assert.equal(chart.length, 12);
  assert.equal(chart[0].time, new Date(2025, 11, 1).getTime());
  assert.equal(chart.at(-1).time, new Date(2026, 10, 1).getTime());
  assert.deepEqual(chart.map(({ memories }) => memories), [2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3]);
});

test("memories of future months are not in the chart of the overview", () => {
  const chart = months("2026-11-01", "2035-06-01", "9999-12-01");
  assert.equal(chart.at(-1).memories, 1);
  assert.equal(chart.reduce((sum, { memories }) => sum + memories, 0), 1);
});
