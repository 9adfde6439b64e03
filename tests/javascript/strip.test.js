import assert from "node:assert/strict";
import { test } from "node:test";
import { isTooNarrow } from "../../functions/mnemosyne/http/console/static/strip.js";

const timeline = (per, ...starts) => ({ per, buckets: starts.map((start) => ({ start, memories: 1 })) });
const AGES = timeline("year", "0001-01-01", "2026-01-01", "9999-01-01");
const WEEKS = timeline("day", "2026-05-01", "2026-05-30");

for (const [chart, after, before, isNarrow] of [
  [AGES, "2026-01-01", "2026-12-31", true],
  [AGES, "2026-01-01T00:00:00Z", "2026-01-31T23:59:59.999999Z", true],
  [AGES, "2026-01-01", null, false], // until the year 9999
  [AGES, "1000-01-01", "2000-01-01", false],
  [AGES, null, null, false],
  [AGES, "soon", "later", false],
  [WEEKS, "2026-05-02", "2026-05-03", false],
  [timeline("day"), "2026-05-02", "2026-05-03", false],
]) {
  test(`${after} to ${before} is ${isNarrow ? "" : "not "}too narrow in ${chart.buckets.length} ${chart.per}s`, () =>
    assert.equal(isTooNarrow(chart, { after, before }), isNarrow));
}
