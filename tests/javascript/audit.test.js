import assert from "node:assert/strict";
import { test } from "node:test";
import { auditAddress, auditFilters } from "../../functions/mnemosyne/http/console/static/audit.js";

test("empty and unknown filters are left out", () => {
  assert.deepEqual(auditFilters({ person: " ada ", action: "", after: "2026-05-20", other: "x" }), {
    person: "ada",
    after: "2026-05-20",
  });
});

test("an address has the filters, encoded", () => {
  assert.equal(auditAddress({}), "/audit");
  assert.equal(auditAddress({ person: "a&b@example.com" }), "/audit?person=a%26b%40example.com");
});
