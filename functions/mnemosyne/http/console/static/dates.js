// Format dates for lists.

const DAY_MS = 86_400_000;
const format = (options) => new Intl.DateTimeFormat(undefined, options);
const TIME = format({ hour: "2-digit", minute: "2-digit" });
const WEEKDAY = format({ weekday: "short" });
const DAY = format({ day: "numeric", month: "short" });
const DATE = format({ day: "numeric", month: "short", year: "numeric" });
const MONTH = format({ month: "long" });
const FULL = format({ dateStyle: "full", timeStyle: "short" });

const midnight = (date) => new Date(date.getFullYear(), date.getMonth(), date.getDate());
// Whole days between two local dates. The result is rounded, because a day with a change to or from summer time has 23
// or 25 hours.
export const daysBetween = (earlier, later) => Math.round((midnight(later) - midnight(earlier)) / DAY_MS);

// Start of the local week, a Monday.
function weekStart(date) {
  const start = midnight(date);
  start.setDate(start.getDate() - ((start.getDay() + 6) % 7));
  return start;
}

const isThisWeek = (date, now) => date >= weekStart(now) && daysBetween(date, now) >= 0;

const dayWithYear = (date, now = new Date()) => (date.getFullYear() === now.getFullYear() ? DAY : DATE).format(date);

// Short name of a time for places where no heading names the day: the time of day if the time is today, else the date.
export function momentName(timestamp, now = new Date()) {
  const date = new Date(timestamp);
  if (Number.isNaN(date.getTime())) return timestamp;
  return daysBetween(date, now) === 0 ? TIME.format(date) : dayWithYear(date, now);
}

// Date in a row of the list of memories, below headings such as "Today". Older dates are less precise: the time of day
// (today, yesterday), weekday and time (this week), day (this year), or day and year (other years).
export function rowDate(timestamp, now = new Date()) {
  const date = new Date(timestamp);
  if (Number.isNaN(date.getTime())) return timestamp;
  const days = daysBetween(date, now);
  if (days === 0 || days === 1) return TIME.format(date);
  if (isThisWeek(date, now)) return `${WEEKDAY.format(date)} ${TIME.format(date)}`;
  return dayWithYear(date, now);
}

// Date without the time of day, for search results.
export function dayName(timestamp, now = new Date()) {
  const date = new Date(timestamp);
  if (Number.isNaN(date.getTime())) return timestamp;
  const days = daysBetween(date, now);
  if (days === 0) return "Today";
  if (days === 1) return "Yesterday";
  return dayWithYear(date, now);
}

const SOON_DAYS = 30;

// Text of an expiry within 30 days. The result is null if the memory expires later or never.
export function expiryText(expiresAt, now = new Date()) {
  const days = expiresAt ? daysBetween(now, new Date(expiresAt)) : SOON_DAYS + 1;
  if (days > SOON_DAYS) return null;
  if (days <= 0) return "expires today";
  return days === 1 ? "expires tomorrow" : `expires in ${days} days`;
}

const pad = (value, length = 2) => String(value).padStart(length, "0");

// The local date of a time, in the format of a date field.
export const localDate = (date) => `${pad(date.getFullYear(), 4)}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;

// Convert a date, as a date field has it (YYYY-MM-DD), to a timestamp: the beginning of the day in local time.
export function startOfDate(date) {
  const start = new Date(`${date}T00:00`);
  if (Number.isNaN(start.getTime())) throw new Error(`The year of a date must be between 1 and 9999, got ${date}.`);
  return start.toISOString();
}

// Day and time: "Today, 11:47".
export const dayAndTime = (timestamp, now = new Date()) =>
  (Number.isNaN(Date.parse(timestamp)) ? timestamp : `${dayName(timestamp, now)}, ${TIME.format(new Date(timestamp))}`);

export const fullDate = (timestamp) =>
  (Number.isNaN(Date.parse(timestamp)) ? timestamp : FULL.format(new Date(timestamp)));

// Heading of the group to which a row belongs, for example Today, This week, Earlier in November, October or 2025.
export function groupName(timestamp, now = new Date()) {
  const date = new Date(timestamp);
  if (Number.isNaN(date.getTime())) return "Without a date";
  const days = daysBetween(date, now);
  if (days < 0) return "Later";
  if (days === 0) return "Today";
  if (days === 1) return "Yesterday";
  if (isThisWeek(date, now)) return "This week";
  if (date.getFullYear() !== now.getFullYear()) return String(date.getFullYear());
  return date.getMonth() === now.getMonth() ? `Earlier in ${MONTH.format(date)}` : MONTH.format(date);
}

// Cache of the names of groups by item. While a long list grows, its items are put in groups again at each frame. The
// names are relative to today, so the cache is emptied when a new day begins.
const cache = { day: 0, names: new WeakMap() };

function nameInCache(item, now) {
  const day = midnight(now).getTime();
  if (cache.day !== day) Object.assign(cache, { day, names: new WeakMap() });
  const name = cache.names.get(item) ?? groupName(item.timestamp, now);
  cache.names.set(item, name);
  return name;
}

// Put rows in groups, in their order. Each group has `name` and `items`.
export function groupsOf(items, now = new Date()) {
  const groups = [];
  for (const item of items) {
    const name = nameInCache(item, now);
    if (groups.at(-1)?.name === name) groups.at(-1).items.push(item);
    else groups.push({ name, items: [item] });
  }
  return groups;
}

// Parse the time of a filter: a timestamp, or a local date of a date field. JavaScript would read a date as UTC.
const localTime = (time) => new Date(/^\d{4}-\d{2}-\d{2}$/.test(time) ? `${time}T00:00` : time);

const isValid = (date) => date && !Number.isNaN(date.getTime());
const isOtherYear = (date) => isValid(date) && date.getFullYear() !== new Date().getFullYear();

// Dates of a time window, as the filter chip shows them: "1 Oct to 31 Oct", "Since 1 Sep". If a date is not in
// the present year, both have a year. An address can have a text that is not a date, which the server refuses.
export function windowName({ after, before }) {
  const [start, end] = [after, before].map((time) => time && localTime(time));
  if (!start && !end) return "Any time";
  const dates = isOtherYear(start) || isOtherYear(end) ? DATE : DAY;
  const [from, until] = [[start, after], [end, before]]
    .map(([date, text]) => (isValid(date) ? dates.format(date) : text));
  if (!end) return `Since ${from}`;
  if (!start) return `Until ${until}`;
  if (midnight(start).getTime() === midnight(end).getTime()) return from;
  return `${from} to ${until}`;
}
