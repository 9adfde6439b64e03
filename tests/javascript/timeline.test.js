import assert from "node:assert/strict";
import { test } from "node:test";
import {
  axisLabels, axisMarks, axisTimes, bucketEnd, coarsen, fillBuckets, filtersOfSelection, midnight, timeFilters,
} from "../../functions/mnemosyne/http/console/static/buckets.js";
import { isTooNarrow, scales } from "../../functions/mnemosyne/http/console/static/strip.js";

const bucket = (start, memories = 1) => ({ start, memories });
const counts = (per, ...buckets) => fillBuckets({ per, buckets }).map(({ memories }) => memories);
const HOUR = 3_600_000;

test("there is a bar for each bucket", () => {
  assert.deepEqual([counts("day"), counts("year", bucket("2026-01-01", 7))], [[], [7]]);
});

const FILLED = [
  ["day", "2026-05-01", "2026-05-04", [1, 0, 0, 2]],
  ["day", "2024-02-28", "2024-03-01", [1, 0, 2]], // a leap year
  ["week", "2026-04-27", "2026-05-18", [1, 0, 0, 2]],
  ["month", "2025-11-01", "2026-02-01", [1, 0, 0, 2]],
  ["year", "0098-01-01", "0101-01-01", [1, 0, 0, 2]],
];
for (const [per, first, last, expected] of FILLED) {
  test(`empty buckets by the ${per} between ${first} and ${last} are added`, () => {
    assert.deepEqual(counts(per, bucket(first, 1), bucket(last, 2)), expected);
  });
}

test("days of 2,000 years are not filled", () => {
  assert.deepEqual(counts("day", bucket("0001-01-01", 1), bucket("2026-01-01", 2)), [1, 2]);
});

test("a year below 100 is not of the 20th century", () => {
  assert.equal(new Date(midnight("0026-03-01")).getFullYear(), 26);
});

function inZone(context, zone) {
  const before = process.env.TZ;
  context.after(() => { process.env.TZ = before; });
  process.env.TZ = zone;
}

test("days are filled after a day without a midnight", (context) => {
  inZone(context, "Africa/Cairo"); // on 24 April 2026 the clocks change from 0:00 to 1:00
  assert.deepEqual(counts("day", bucket("2026-04-23", 1), bucket("2026-04-26", 2)), [1, 0, 0, 2]);
});

for (const [start, hours] of [["2026-03-29", 23], ["2026-10-25", 25], ["2026-05-01", 24]]) {
  test(`${start} has ${hours} hours in Berlin`, (context) => {
    inZone(context, "Europe/Berlin");
    assert.equal(bucketEnd(midnight(start), "day") - midnight(start), hours * HOUR);
  });
}

test("filters include the last microsecond, exclude the end and stay within the years that the server takes", () => {
  const [day, ever] = [[Date.UTC(2026, 4, 1), Date.UTC(2026, 4, 2)], [-1e15, 1e15]].map((ends) => timeFilters(...ends));
  assert.deepEqual(day, { after: "2026-05-01T00:00:00.000Z", before: "2026-05-01T23:59:59.999999Z" });
  assert.deepEqual(ever, { after: "0001-01-01T00:00:00.000Z", before: "9999-12-31T23:59:59.999999Z" });
});

const DAYS = fillBuckets({ per: "day", buckets: [bucket("2026-05-01"), bucket("2026-05-03")] });
const at = (date, hour) => midnight(date) + hour * HOUR;
const SELECTED = [
  ["within a day", at("2026-05-02", 8), at("2026-05-02", 16), "2026-05-02", "2026-05-02"],
  ["over two days", at("2026-05-01", 23), at("2026-05-02", 1), "2026-05-01", "2026-05-02"],
  ["over everything", at("2026-05-01", 0), at("2026-05-03", 24), "2026-05-01", "2026-05-03"],
];
for (const [name, start, end, first, last] of SELECTED) {
  test(`a selection ${name} is of whole days`, () => {
    const expected = timeFilters(midnight(first), bucketEnd(midnight(last), "day"));
    assert.deepEqual(filtersOfSelection(DAYS, "day", start, end), expected);
  });
}

test("the axis has three whole numbers at equal distances", () => {
  for (const most of [1, 2, 3, 4, 5, 7, 8, 10, 40, 99, 1234, 1_000_000]) {
    const [top, middle, bottom] = axisMarks(most);
    assert.ok(top >= most && Number.isInteger(middle));
    assert.deepEqual([top - middle, bottom], [middle, 0]);
  }
});

test("a place in the strip and its time belong together, at every width", () => {
  const { x, timeOf, height } = scales(DAYS, "day");
  assert.equal(x(DAYS[0].time), 0);
  assert.equal(x(bucketEnd(DAYS[2].time, "day")), 1000);
  for (const place of [0, 100.5, 348, 1000]) assert.ok(Math.abs(x(timeOf(place / 1000)) - place) < 0.01);
  assert.equal(timeOf(-0.5), DAYS[0].time);
  assert.equal(height(0), 0);
});

test("labels of the axis are at even distances, fewer of a short time", () => {
  const [start, end] = [midnight("2026-01-01"), midnight("2026-12-31")];
  const times = axisTimes(start, end);
  assert.equal(times.length, 7);
  assert.deepEqual([times[0], times.at(-1)], [start, end - 1]);
  assert.equal(axisTimes(start, start + 3 * 24 * HOUR).length, 3);
  assert.equal(axisTimes(start, start + 24 * HOUR).length, 2);
});

for (const [per, start, last, today, labels] of [
  ["day", "2026-11-27", "2026-11-29", "2026-11-29", ["Nov 27, 2026", "Nov 28, 2026", "Today"]],
  ["year", "2025-01-01", "2026-01-01", "2026-02-01", ["2025", "2025", "2025", "2025", "2026", "2026", "Today"]],
  ["day", "2026-11-28", "2026-11-30", "2026-11-28", ["Nov 28, 2026", "Nov 29, 2026", "Nov 30, 2026"]],
  ["day", "2026-11-27", "2026-11-28", "2026-11-29", ["Nov 27, 2026", "Nov 28, 2026"]],
]) {
  test(`on ${today}, the axis from ${start} to the ${per} of ${last} has the labels ${labels.join(" · ")}`, () => {
    const [first, final] = [midnight(start), midnight(last)];
    const axis = { start: first, end: bucketEnd(final, per), last: final, per };
    assert.deepEqual(axisLabels(axis, midnight(today) + 12 * HOUR), labels);
  });
}

const LONG = [
  [["day", "2026-01-01", "2026-01-02", "2026-01-05"], 400, ["day", 1, 1, 1]],
  [["day", "2026-01-01", "2026-01-02", "2026-06-05"], 120, ["week", 2, 1]],
  [["day", "2020-01-01", "2020-01-31", "2026-06-05"], 120, ["month", 2, 1]],
  [["week", "2000-01-03", "2000-12-25", "2026-06-01"], 120, ["year", 2, 1]],
  [["year", "1000-01-01", "2026-01-01"], 120, ["year", 1, 1]],
];
for (const [[per, ...starts], most, [coarser, ...expected]] of LONG) {
  test(`${per}s from ${starts[0]} to ${starts.at(-1)} are shown as ${coarser}s`, () => {
    const shown = coarsen({ per, buckets: starts.map((start) => bucket(start)) }, most);
    assert.deepEqual([shown.per, ...shown.buckets.map(({ memories }) => memories)], [coarser, ...expected]);
  });
}

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
