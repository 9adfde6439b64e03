import assert from "node:assert/strict";
import { test } from "node:test";
import { othersText } from "../../functions/mnemosyne/http/console/static/memory.js";

for (const [count, more, text] of [
  [1, [], "another one"], [2, [], "2 others"], [50, ["ratings"], "50 others"],
  [50, ["supersedes"], "more than 50 others"],
]) {
  test(`a memory replaces ${text}`, () =>
    assert.equal(othersText({ supersedes: Array(count).fill({}), more }), text));
}
