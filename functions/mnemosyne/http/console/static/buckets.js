// Buckets of the timeline: days, weeks, months or years in the local time zone.
import { localDate } from "./dates.js";

const MOST_BUCKETS = 2000;
const AXIS_LABELS = 7;
const DAY_MS = 86_400_000;
const EARLIEST = Date.parse("0001-01-01T00:00:00Z");
const LATEST = Date.parse("9999-12-31T23:59:59.999Z");
const STEPS = {
  day: (date) => date.setDate(date.getDate() + 1),
  week: (date) => date.setDate(date.getDate() + 7),
  month: (date) => date.setMonth(date.getMonth() + 1),
  year: (date) => date.setFullYear(date.getFullYear() + 1),
};
const LABELS = {
  day: { month: "short", day: "numeric", year: "numeric" },
  week: { month: "short", day: "numeric", year: "numeric" },
  month: { month: "short", year: "numeric" },
  year: { year: "numeric" },
};

// The local midnight of a date such as 2026-05-01, in milliseconds.
export function midnight(date) {
  const [year, month, day] = date.split("-").map(Number);
  const start = new Date(2000, month - 1, day);
  start.setFullYear(year); // the constructor would add 1900 to a year below 100
  return start.getTime();
}

// The end of the bucket that starts at `time`, in milliseconds.
export function bucketEnd(time, per) {
  const date = new Date(time);
  STEPS[per](date);
  date.setHours(0, 0, 0, 0); // if the clock skips midnight, the start of the day is later
  return date.getTime();
}

// Filters for the time from `start` until just before `end`, limited to the years 1 to 9999. The server includes
// memories of the time `before`, so `before` is one microsecond earlier than `end`.
export const timeFilters = (start, end) => ({
  after: new Date(Math.max(start, EARLIEST)).toISOString(),
  before: new Date(Math.min(end - 1, LATEST)).toISOString().replace("Z", "999Z"),
});

// Add the periods without memories, so that equal distances in the chart are equal times. If this would give more than
// MOST_BUCKETS periods, add none.
export function fillBuckets({ per, buckets }) {
  const counts = new Map(buckets.map(({ start, memories }) => [midnight(start), memories]));
  const starts = [...counts.keys()];
  const last = starts.at(-1);
  const times = [];
  for (let time = starts[0]; time <= last && times.length < MOST_BUCKETS; time = bucketEnd(time, per)) {
    times.push(time);
  }
  return (times.at(-1) === last ? times : starts).map((time) => ({ time, memories: counts.get(time) ?? 0 }));
}

const DAYS = { day: 1, week: 7, month: 30, year: 365 };
const UNITS = Object.keys(DAYS);

// The start of the week, month or year that contains the date `start`. `per` is the name of this longer period.
function coarserStart(start, per) {
  if (per === "year") return `${start.slice(0, 4)}-01-01`;
  if (per === "month") return `${start.slice(0, 7)}-01`;
  const date = new Date(midnight(start));
  date.setDate(date.getDate() - ((date.getDay() + 6) % 7));
  return localDate(date);
}

// The timeline in the shortest unit that needs at most `most` bars: days, weeks, months or years.
export function coarsen({ per, buckets }, most) {
  if (!buckets.length) return { per, buckets };
  const days = (midnight(buckets.at(-1).start) - midnight(buckets[0].start)) / DAY_MS;
  const units = UNITS.slice(UNITS.indexOf(per));
  const unit = units.find((name) => days / DAYS[name] < most) ?? units.at(-1);
  if (unit === per) return { per, buckets };
  const counts = new Map();
  for (const { start, memories } of buckets) {
    const longer = coarserStart(start, unit);
    counts.set(longer, (counts.get(longer) ?? 0) + memories);
  }
  return { per: unit, buckets: [...counts].map(([start, memories]) => ({ start, memories })) };
}

// Name of a bucket in the chart, in the language of the browser.
export const bucketLabel = (time, per) => new Intl.DateTimeFormat(undefined, LABELS[per]).format(new Date(time));

// Filters for all buckets that overlap the time from `start` until `end`.
export function filtersOfSelection(buckets, per, start, end) {
  const within = buckets.filter(({ time }) => time <= end);
  const first = within.findLast(({ time }) => time <= start) ?? buckets[0];
  const last = within.at(-1) ?? first;
  return timeFilters(first.time, bucketEnd(last.time, per));
}

// At most seven times at equal distances, as labels for the axis of the chart.
export function axisTimes(start, end) {
  const count = Math.max(2, Math.min(AXIS_LABELS, Math.floor((end - start) / DAY_MS)));
  return Array.from({ length: count }, (_, index) => start + ((end - 1 - start) * index) / (count - 1));
}

// The labels of the axis of the chart. The last label is "Today" if the last bucket, from `last` until `end`, contains
// the present.
export function axisLabels({ start, end, last, per }, now = Date.now()) {
  const isNow = last <= now && now < end;
  return axisTimes(start, end).map((time, index, times) =>
    (isNow && index === times.length - 1 ? "Today" : bucketLabel(time, per)));
}

// Labels for an axis of counts up to `most`: three whole numbers at equal distances, in descending order.
export function axisMarks(most) {
  const top = most + (most % 2);
  return [top, top / 2, 0];
}
