import assert from "node:assert/strict";
import { test } from "node:test";
import { checkStored } from "../../functions/mnemosyne/http/console/static/connect.js";

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
