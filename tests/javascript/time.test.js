import assert from "node:assert/strict";
import { test } from "node:test";
import { formatTime, ZONE, zoneOf } from "../../functions/mnemosyne/mcp/app/time.js";

test("the zone is the local one", () => assert.equal(ZONE, process.env.TZ));

test("a zone that the browser does not know is UTC, because the server refuses its name", () => {
  assert.deepEqual(["Etc/Unknown", undefined, "Asia/Tokyo"].map(zoneOf), ["UTC", "UTC", "Asia/Tokyo"]);
});

const FORMATTED = [
  ["2026-05-02T00:00:00Z", /^May 2, 2026, 9:00\sAM$/],
  ["2026-05-01T15:00:00.000000Z", /^May 2, 2026, 12:00\sAM$/],
  ["2026-05-01T16:00:00+02:00", /^May 1, 2026, 11:00\sPM$/],
];
for (const [timestamp, expected] of FORMATTED) {
  test(`${timestamp} is shown in the local zone`, () => assert.match(formatTime(timestamp), expected));
}

for (const text of ["soon", "", "2026-13-45", undefined]) {
  test(`${JSON.stringify(text)} is shown unchanged`, () => assert.equal(formatTime(text), text));
}
