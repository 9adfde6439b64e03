import assert from "node:assert/strict";
import { test } from "node:test";
import {
  dayName, daysBetween, expiryText, groupName, groupsOf, momentName, rowDate, startOfDate, windowName,
} from "../../functions/mnemosyne/http/console/static/dates.js";

const NOW = new Date(2026, 10, 27, 15, 0); // a Friday
const at = (...parts) => new Date(...parts).toISOString();

const DATES = [
  [at(2026, 10, 27, 14, 2), "02:02 PM", "Today", "Today"],
  [at(2026, 10, 26, 17, 20), "05:20 PM", "Yesterday", "Yesterday"],
  [at(2026, 10, 25, 15, 34), "Wed 03:34 PM", "Nov 25", "This week"],
  [at(2026, 10, 23, 0, 0), "Mon 12:00 AM", "Nov 23", "This week"],
  [at(2026, 10, 22, 23, 59), "Nov 22", "Nov 22", "Earlier in November"],
  [at(2026, 9, 31, 12, 0), "Oct 31", "Oct 31", "October"],
  [at(2025, 11, 31, 12, 0), "Dec 31, 2025", "Dec 31, 2025", "2025"],
  [at(2026, 11, 1, 12, 0), "Dec 1", "Dec 1", "Later"],
  ["soon", "soon", "soon", "Without a date"],
];
for (const [timestamp, row, day, group] of DATES) {
  test(`${timestamp} is "${row}" in a row, "${day}" in a result and in the group "${group}"`, () => {
    assert.equal(rowDate(timestamp, NOW).replaceAll("\u202f", " "), row);
    assert.equal(dayName(timestamp, NOW), day);
    assert.equal(groupName(timestamp, NOW), group);
  });
}

for (const [timestamp, moment] of [
  [at(2026, 10, 27, 14, 2), "02:02 PM"],
  [at(2026, 10, 26, 17, 20), "Nov 26"],
  [at(2025, 11, 31, 12, 0), "Dec 31, 2025"],
  ["soon", "soon"],
]) {
  test(`${timestamp} is "${moment}" where no heading names the day`, () =>
    assert.equal(momentName(timestamp, NOW).replaceAll("\u202f", " "), moment));
}

test("rows are grouped in their order, newest or oldest first", () => {
  const items = DATES.slice(0, 7).map(([timestamp]) => ({ timestamp }));
  const names = (rows) => groupsOf(rows, NOW).map(({ name, items: members }) => `${name} ${members.length}`);
  const expected = ["Today 1", "Yesterday 1", "This week 2", "Earlier in November 1", "October 1", "2025 1"];
  assert.deepEqual(names(items), expected);
  assert.deepEqual(names(items.toReversed()), expected.toReversed());
});

test("days are counted by the calendar, not by 24 hours", (context) => {
  const zone = process.env.TZ;
  context.after(() => { process.env.TZ = zone; });
  process.env.TZ = "Europe/Berlin";
  assert.equal(daysBetween(new Date(2026, 9, 24, 12), new Date(2026, 9, 26, 1)), 2); // a day of 25 hours
  assert.equal(daysBetween(new Date(2026, 2, 28, 23), new Date(2026, 2, 30, 0)), 2); // a day of 23 hours
});

const year = new Date().getFullYear();
const WINDOWS = [
  [{}, "Any time"],
  [{ after: at(year, 9, 1) }, "Since Oct 1"],
  [{ before: at(year - 1, 9, 31) }, `Until Oct 31, ${year - 1}`],
  [{ after: at(year, 9, 1), before: at(year, 9, 31, 23, 59) }, "Oct 1 to Oct 31"],
  [{ after: at(year, 9, 1), before: at(year, 9, 1, 23, 59) }, "Oct 1"],
  [{ after: `${year}-11-01`, before: `${year + 1}-11-30` }, `Nov 1, ${year} to Nov 30, ${year + 1}`],
  [{ after: "soon" }, "Since soon"], [{ before: "2026-02-99" }, "Until 2026-02-99"],
  [{ after: "2026-13-45", before: "later" }, "2026-13-45 to later"],
];
for (const [window, name] of WINDOWS) {
  test(`the window ${JSON.stringify(window)} is "${name}"`, () => assert.equal(windowName(window), name));
}

for (const [expiry, text] of [
  [at(2026, 10, 27, 23, 59), "expires today"], [at(2026, 10, 28, 0, 0), "expires tomorrow"],
  [at(2026, 11, 27, 23, 59), "expires in 30 days"], [at(2026, 11, 28, 0, 0), null], [undefined, null],
]) {
  test(`an expiry at ${expiry} has the text ${text}`, () => assert.equal(expiryText(expiry, NOW), text));
}

test("a date of a year above 9999 is an error that names the years", () => {
  assert.throws(() => startOfDate("12026-01-01"), /between 1 and 9999, got 12026-01-01/u);
});
