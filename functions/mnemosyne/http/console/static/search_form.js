// The search and filters of the page Memories: in its address, and as arguments of the tools.
import { formatTags, parseTags } from "./tags.js";
import { ZONE } from "./time.js";

export const MODES = { hybrid: "Meaning and words", semantic: "Meaning only", exact: "Exact text" };
export const QUALITY = [["", "Usual"], ["0", "None"], ["0.5", "As much as relevance"], ["1", "Quality only"]];
export const DEFAULTS = {
  query: "", mode: "hybrid", time: "", after: "", before: "", tags: "", session: "", quality: "", old: "", order: "",
};
const FILTERS = ["time", "after", "before", "tags", "session", "old"];

const parameterOf = (name) => (name === "query" ? "q" : name);

// Read the form from an address. An address has the whole search, so that it can be bookmarked, and no credential. A
// parameter of white space counts as absent.
export function formOf({ searchParams }) {
  const read = (name) => {
    const text = searchParams.get(parameterOf(name));
    return text?.trim() ? text : DEFAULTS[name];
  };
  return Object.fromEntries(Object.keys(DEFAULTS).map((name) => [name, read(name)]));
}

// The address that has the search of a form. formOf reads the form from the address again. An empty form has the
// address "/".
export function addressOf(form) {
  const given = Object.entries(form).filter(([name, value]) => value && value !== DEFAULTS[name]);
  const parameters = new URLSearchParams(given.map(([name, value]) => [parameterOf(name), value]));
  return parameters.size ? `/?${parameters}` : "/";
}

// Filters of time, tags and session, as all tools take them.
export function filtersOf({ time, after, before, tags, session }) {
  const filters = {};
  const wanted = parseTags(tags);
  if (time) filters.time_expr = time;
  if (after) filters.after = after;
  if (before) filters.before = before;
  if (time || after || before) filters.timezone = ZONE;
  if (wanted.length) filters.tags = wanted;
  if (session) filters.session = session;
  return filters;
}

// Arguments of memory_search for a form with a query.
export function searchArguments(form, limit) {
  const args = { query: form.query, mode: form.mode, limit, include_debug: true, matches: true, ...filtersOf(form) };
  if (form.quality) args.quality_boost = Number.isNaN(Number(form.quality)) ? form.quality : Number(form.quality);
  if (form.old) args.include_superseded = true;
  return args;
}

// Filters of the tools that list and count memories. These tools include replaced memories by default, so the filters
// always set include_superseded.
export const listFilters = (form) => ({ include_superseded: Boolean(form.old), ...filtersOf(form) });

// Filters of the timeline: the filters of the list, without the time. If there are no other filters, the timeline also
// counts replaced memories. The database then reads only an index, which saves time in a namespace of a million
// memories.
export function timelineFilters(form) {
  const filters = listFilters({ ...form, time: "", after: "", before: "" });
  return Object.keys(filters).length > 1 ? filters : { include_superseded: true };
}

// Arguments of list_memories for a form without a query.
export function listArguments(form, limit) {
  const order = form.order ? { order: form.order } : {};
  return { limit, preview: true, ...order, ...listFilters(form) };
}

export const hasFilter = (form) => FILTERS.some((name) => form[name]);
export const withoutFilters = (form) => ({ ...form, ...Object.fromEntries(FILTERS.map((name) => [name, ""])) });

// Add a tag to the filters, or remove it.
export function toggleTag(form, tag) {
  const tags = parseTags(form.tags);
  const isOn = tags.includes(tag);
  return { ...form, tags: formatTags(isOn ? tags.filter((other) => other !== tag) : [...tags, tag]) };
}
