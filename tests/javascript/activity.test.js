import assert from "node:assert/strict";
import { test } from "node:test";
import { looksAddress } from "../../functions/mnemosyne/http/console/static/overview.js";

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
