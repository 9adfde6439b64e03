// Find memories, and see why each was found.
import { html, useEffect, useState } from "./vendor/htm-preact.js";
import { go } from "./address.js";
import { call } from "./mcp.js";
import { Entry, Heading, listed, Problem, stamp, useAction, Waiting, ZONE } from "./parts.js";

const MODES = { hybrid: "meaning and words", semantic: "meaning alone", exact: "this very text" };
const PARTS = { vector_score: "meaning", lexical_score: "words", neighbours: "beside it", time: "time", speaker: "speaker" };
const QUALITY = [["", "as usual"], ["0", "not at all"], ["0.5", "as much as relevance"], ["1", "alone"]];
const LIMIT = 20;
const MOST = 100; // that the server answers

// The address says what is searched for, so that a search can be kept and sent on; no part of it is a credential.
const asked = (address) => {
  const given = address.searchParams;
  return { query: given.get("q") ?? "", mode: given.get("mode") ?? "hybrid", time: given.get("time") ?? "", tags: given.get("tags") ?? "", quality: given.get("quality") ?? "", old: given.get("old") ?? "" };
};

const filtered = ({ mode, time, tags, quality, old }) => Boolean(mode !== "hybrid" || time || tags || quality || old);

function search({ query, mode, time, tags, quality, old }, limit = LIMIT) {
  const labels = listed(tags);
  const args = { limit, include_debug: true };
  if (query) Object.assign(args, { query, mode });
  if (time) Object.assign(args, { time_expr: time, timezone: ZONE });
  if (labels.length) args.tags = labels;
  if (quality) args.quality_boost = Number.isNaN(Number(quality)) ? quality : Number(quality);
  if (old) args.include_superseded = true;
  return call("memory_search", args);
}

export function Search({ address }) {
  const from = asked(address);
  const [form, setForm] = useState(from);
  const isAsked = Boolean(address.search);
  const found = useAction(search);
  // Where there is little room the memories found come first, unless a filter is set, which must be seen.
  const [filtersShown] = useState(() => matchMedia("(min-width: 40rem)").matches || filtered(from));
  useEffect(() => {
    setForm(from);
    if (isAsked) found.run(from);
  }, [address.search]);
  const change = (name) => (event) => setForm({ ...form, [name]: event.target.value });
  const submit = (event) => {
    event.preventDefault();
    const kept = new URLSearchParams({ q: form.query, mode: form.mode, time: form.time, tags: form.tags, quality: form.quality, old: form.old });
    for (const [name, value] of [...kept]) if (!value || (name === "mode" && value === "hybrid")) kept.delete(name);
    if (!kept.size) return document.getElementById("query").focus();
    go(`/?${kept}`);
  };
  return html`<div>
    <${Heading}>Search</>
    <form onSubmit=${submit} role="search">
      <label for="query">What are you looking for?</label>
      <div class="ask"><input id="query" type="search" value=${form.query} onInput=${change("query")} />
        <button>Search</button></div>
      <details open=${filtersShown}>
        <summary>Filters</summary>
        <div class="row">
          <div><label for="mode">By</label><select id="mode" value=${form.mode} onChange=${change("mode")}>
            ${Object.entries(MODES).map(([mode, said]) => html`<option value=${mode}>${said}</option>`)}</select></div>
          <div><label for="time">When, in words</label><input id="time" value=${form.time} placeholder="last month" onInput=${change("time")} /></div>
          <div><label for="tags">Tags</label><input id="tags" value=${form.tags} placeholder="ada, tea" onInput=${change("tags")} /></div>
          <div><label for="quality">Quality counts</label><select id="quality" value=${form.quality} onChange=${change("quality")}>
            ${QUALITY.map(([weight, said]) => html`<option value=${weight}>${said}</option>`)}</select></div>
        </div>
        <label class="check"><input type="checkbox" checked=${form.old === "yes"}
          onChange=${(event) => setForm({ ...form, old: event.target.checked ? "yes" : "" })} /> Superseded ones too</label>
      </details>
    </form>
    <${Problem} error=${isAsked ? found.error : null} />
    ${found.busy ? html`<${Waiting} />` : isAsked && found.done && html`<${Found} found=${found.done} onMore=${() => found.run(from, MOST)} />`}
  </div>`;
}

const counted = (count) => (count === 1 ? "1 memory" : count === LIMIT || count === MOST ? `The best ${count} memories` : `${count} memories`);

function Found({ found, onMore }) {
  const { window: span, memories, degraded, debug } = found;
  return html`<div>
    <p role="status" class="note">
      ${counted(memories.length)}
      ${span && ` from ${span.after ? stamp(span.after) : "…"} to ${span.before ? stamp(span.before) : "…"} (${ZONE})`}${degraded && `. ${degraded}`}
    </p>
    <ol class="entries">${memories.map(
      (memory) => html`<${Entry} memory=${memory} text=${memory.snippet ?? memory.content.slice(0, 400)}>
        <${Others} said="Replaces" ids=${memory.supersedes} />
        <${Others} said="Left out, but for white space or a full stop the same:" ids=${memory.near_duplicates} /><${Why} memory=${memory} why=${debug?.why[memory.id]} /></>`,
    )}</ol>
    ${memories.length === LIMIT && html`<button onClick=${onMore}>Show up to ${MOST}</button>`}</div>`;
}

// Memories that a hit stands for: earlier ones, and those left out because they state the same.
const Others = ({ said, ids }) => (ids?.length ? html`<p class="note">${said} ${ids.map(
  (id, place) => html`${place > 0 && ", "}<a href=${`/memories/${id}`}>${id.slice(0, 8)}…${id.slice(-4)}</a>`,
)}</p>` : null);

// The parts of the score, each as long as it is large.
function Why({ memory, why }) {
  if (!why) return null;
  const parts = Object.entries(PARTS).filter(([name]) => why[name]);
  if (!parts.length) return null;
  const largest = Math.max(...parts.map(([name]) => Math.abs(why[name])), Number.MIN_VALUE);
  return html`<details>
    <summary>Why: score ${memory.score.toFixed(2)}</summary>
    <dl class="bars">
      ${parts.map(([name, said]) => html`<dt>${said}</dt><dd>
        <meter min="0" max=${largest} value=${Math.abs(why[name])} aria-label=${said}></meter> ${why[name].toFixed(3)}</dd>`)}
      <dt>quality</dt><dd><meter min="0" max="1" value=${memory.quality} aria-label="quality"></meter> ${memory.quality.toFixed(2)}</dd>
    </dl>
    ${why.matched_words?.length ? html`<p class="note">Words: ${why.matched_words.join(", ")}</p>` : null}
  </details>`;
}
