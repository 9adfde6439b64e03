// Dates in a time zone west of Greenwich. The zone is set before the modules are imported, because they then create
// their date formats.
import assert from "node:assert/strict";
import { test } from "node:test";

process.env.TZ = "America/Los_Angeles";
const { windowName } = await import("../../functions/mnemosyne/http/console/static/dates.js");

test("the dates of a filter are local dates", () => {
  assert.equal(windowName({ after: "2025-10-01" }), "Since Oct 1, 2025");
  assert.equal(windowName({ after: "2025-10-01", before: "2025-10-31" }), "Oct 1, 2025 to Oct 31, 2025");
});
