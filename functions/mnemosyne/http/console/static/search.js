// Search memories and show why each was found.
import { html, useEffect, useState } from "./vendor/htm-preact.js";
import { go } from "./address.js";
import { call } from "./mcp.js";
import { Entry, Heading, Loading, Problem, useAction } from "./components.js";
import { parseTags } from "./tags.js";
import { formatTime, ZONE } from "./time.js";

const MODES = { hybrid: "meaning and words", semantic: "meaning only", exact: "exact text" };
const SCORES = {
  vector_score: "meaning",
  lexical_score: "words",
  neighbours: "neighbours in the session",
  time: "time",
  speaker: "speaker",
};
const QUALITY = [["", "default"], ["0", "none"], ["0.5", "equal to relevance"], ["1", "quality only"]];
const DEFAULTS = { query: "", mode: "hybrid", time: "", tags: "", quality: "", old: "" };
const LIMIT = 20;
const MOST = 100; // of the server
const TEXT_LENGTH = 400;

const parameterOf = (name) => (name === "query" ? "q" : name);

// Read the form from an address. An address has the whole search, so that it can be bookmarked, and no credential.
export function formOf({ searchParams }) {
  const read = ([name, value]) => [name, searchParams.get(parameterOf(name)) ?? value];
  return Object.fromEntries(Object.entries(DEFAULTS).map(read));
}

// The inverse of formOf; "/" for an empty form.
export function addressOf(form) {
  const given = Object.entries(form).filter(([name, value]) => value && value !== DEFAULTS[name]);
  const parameters = new URLSearchParams(given.map(([name, value]) => [parameterOf(name), value]));
  return parameters.size ? `/?${parameters}` : "/";
}

// Arguments of memory_search for a form.
export function argumentsOf({ query, mode, time, tags, quality, old }, limit = LIMIT) {
  const args = { limit, include_debug: true };
  const wanted = parseTags(tags);
  if (query) Object.assign(args, { query, mode });
  if (time) Object.assign(args, { time_expr: time, timezone: ZONE });
  if (wanted.length) args.tags = wanted;
  if (quality) args.quality_boost = Number.isNaN(Number(quality)) ? quality : Number(quality);
  if (old) args.include_superseded = true;
  return args;
}

const hasFilter = ({ query: _, ...filters }) => addressOf(filters) !== "/";

export function Search({ address }) {
  const wanted = formOf(address);
  const [form, setForm] = useState(wanted);
  const isSearch = Boolean(address.search);
  const searching = useAction((from, limit) => call("memory_search", argumentsOf(from, limit)));
  useEffect(() => {
    setForm(wanted);
    if (isSearch) searching.run(wanted);
  }, [address.search]);
  const submit = (event) => {
    event.preventDefault();
    const next = addressOf(form);
    if (next === "/") document.getElementById("query").focus();
    else go(next);
  };
  return html`<div>
    <${Heading}>Search</>
    <${Form} form=${form} onChange=${setForm} onSubmit=${submit} />
    <${Problem} error=${isSearch ? searching.error : null} />
    ${searching.busy ? html`<${Loading} />` : isSearch && searching.done && html`
      <${Results} results=${searching.done} onMore=${() => searching.run(wanted, MOST)} />`}
  </div>`;
}

function Form({ form, onChange, onSubmit }) {
  // On a narrow screen, filters are closed so that results come first. Filters that are set are always shown.
  const [isOpen] = useState(() => matchMedia("(min-width: 40rem)").matches || hasFilter(form));
  const change = (name) => (event) => onChange({ ...form, [name]: event.target.value });
  const setOld = (event) => onChange({ ...form, old: event.target.checked ? "yes" : "" });
  const option = ([value, name]) => html`<option value=${value}>${name}</option>`;
  return html`<form onSubmit=${onSubmit} role="search">
    <label for="query">What are you looking for?</label>
    <div class="ask"><input id="query" type="search" value=${form.query} onInput=${change("query")} />
      <button>Search</button></div>
    <details open=${isOpen}>
      <summary>Filters</summary>
      <div class="row">
        <div><label for="mode">Search by</label><select id="mode" value=${form.mode} onChange=${change("mode")}>
          ${Object.entries(MODES).map(option)}</select></div>
        <div><label for="time">Time</label>
          <input id="time" value=${form.time} placeholder="last month" onInput=${change("time")} /></div>
        <div><label for="tags">Tags</label>
          <input id="tags" value=${form.tags} placeholder="ada, tea" onInput=${change("tags")} /></div>
        <div><label for="quality">Weight of quality</label>
          <select id="quality" value=${form.quality} onChange=${change("quality")}>${QUALITY.map(option)}</select></div>
      </div>
      <label class="check"><input type="checkbox" checked=${form.old === "yes"} onChange=${setOld} />
        ${" "}Include superseded memories</label>
    </details>
  </form>`;
}

// Number of results in words. A full page is the best of more.
export function resultCount(count) {
  if (count === 1) return "1 memory";
  return count === LIMIT || count === MOST ? `The best ${count} memories` : `${count} memories`;
}

function Results({ results, onMore }) {
  const { window: times, memories, degraded, debug, nothing_close: nothingClose } = results;
  const end = (time) => (time ? formatTime(time) : "…");
  return html`<div>
    <p role="status" class="note">
      ${resultCount(memories.length)}
      ${times && ` from ${end(times.after)} to ${end(times.before)} (${ZONE})`}${degraded && `. ${degraded}`}
      ${nothingClose && html`<br />${nothingClose}`}
    </p>
    <ol class="entries">${memories.map((memory) => html`
      <${Entry} memory=${memory} text=${memory.snippet ?? memory.content.slice(0, TEXT_LENGTH)}>
        <${Others} name="Replaces" ids=${memory.supersedes} />
        <${Others} name="Near-duplicates:" ids=${memory.near_duplicates} />
        <${Why} memory=${memory} why=${debug?.why[memory.id]} /></>`)}</ol>
    ${memories.length === LIMIT && html`<button onClick=${onMore}>Show up to ${MOST}</button>`}</div>`;
}

// Links to memories that a result replaces or is shown instead of.
function Others({ name, ids }) {
  if (!ids?.length) return null;
  const link = (id) => html`<a href=${`/memories/${id}`}>${id.slice(0, 8)}…${id.slice(-4)}</a>`;
  return html`<p class="note">${name} ${ids.map((id, index) => html`${index > 0 && ", "}${link(id)}`)}</p>`;
}

// The parts of a score, as bars relative to the largest.
function Why({ memory, why }) {
  const parts = Object.entries(SCORES).filter(([key]) => why?.[key]);
  if (!parts.length) return null;
  const largest = Math.max(...parts.map(([key]) => Math.abs(why[key])), Number.MIN_VALUE);
  return html`<details>
    <summary>Why: score ${memory.score.toFixed(2)}</summary>
    <dl class="bars">
      ${parts.map(([key, name]) => html`<dt>${name}</dt><dd>
        <meter min="0" max=${largest} value=${Math.abs(why[key])} aria-label=${name}></meter>
        ${" "}${why[key].toFixed(3)}</dd>`)}
      <dt>quality</dt><dd>
        <meter min="0" max="1" value=${memory.quality} aria-label="quality"></meter> ${memory.quality.toFixed(2)}</dd>
    </dl>
    ${why.matched_words?.length ? html`<p class="note">Words: ${why.matched_words.join(", ")}</p>` : null}
  </details>`;
}
