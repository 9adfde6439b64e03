import assert from "node:assert/strict";
import { test } from "node:test";
import { recentMonths } from "../../functions/mnemosyne/http/console/static/overview.js";

const NOW = new Date(2026, 10, 30, 12);
const months = (...starts) => recentMonths(starts.map((start, index) => ({ start, memories: index + 1 })), NOW);

test("the chart has the twelve months up to the present one", () => {
  const chart = months("2025-11-01", "2025-12-01", "2026-11-01");
  assert.equal(chart.length, 12);
  assert.equal(chart[0].time, new Date(2025, 11, 1).getTime());
  assert.equal(chart.at(-1).time, new Date(2026, 10, 1).getTime());
  assert.deepEqual(chart.map(({ memories }) => memories), [2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3]);
});

test("memories of future months are not in the chart", () => {
  const chart = months("2026-11-01", "2035-06-01", "9999-12-01");
  assert.equal(chart.at(-1).memories, 1);
  assert.equal(chart.reduce((sum, { memories }) => sum + memories, 0), 1);
});
