// Results of a search in groups by confidence. If no memory is relevant enough, the page suggests next steps.
import { html, useEffect } from "./vendor/htm-preact.js";
import { go, setResults, useKept } from "./address.js";
import { Button, Icon, Loading, LoadProblem, Note, useAction } from "./components.js";
import { deletedIds } from "./deletions.js";
import { Hits } from "./hit.js";
import { useKeys } from "./keys.js";
import { call } from "./mcp.js";
import { useValue } from "./observable.js";
import { addressOf, hasFilter, searchArguments, withoutFilters } from "./search_form.js";
import { useSelection } from "./selection.js";
import { memories as countMemories, number } from "./text.js";
import { formatTime, ZONE } from "./time.js";

const LIMIT = 20;
const MOST = 100; // maximum results of a call of memory_search

const level = (name) => (hit) => (hit.confidence ?? "related") === name;

// The number of results by confidence, in words.
export function resultText(hits) {
  const [strong, related, weak] = ["strong", "related", "weak"].map((name) => hits.filter(level(name)).length);
  const name = (count, word) => `${number(count)} ${word} ${count === 1 ? "match" : "matches"}`;
  if (strong) return [name(strong, "strong"), related ? `${number(related)} related` : ""].filter(Boolean).join(", ");
  if (related) return name(related, "related");
  return weak ? name(weak, "weak") : "No matches";
}

// Search and show the results. `before` is the element that is shown until the server answers.
export function Results({ form, may, facets, onTimes, before = null }) {
  const hidden = useValue(deletedIds);
  const [limit, setLimit] = useKept("limit", LIMIT);
  const searching = useAction((most) => call("memory_search", searchArguments(form, most)));
  useEffect(() => void searching.run(limit), [limit]);
  const answer = searching.done;
  // If all hits are weak and closer hits are ranked beyond the limit, search again with the highest limit.
  useEffect(() => void (answer?.closer_hits && setLimit(MOST)), [answer]);
  useEffect(() => onTimes(answer?.window ?? null), [answer]);
  const hits = (answer?.memories ?? []).filter(({ id }) => !hidden.has(id));
  useEffect(() => setResults({ href: addressOf(form), name: "Results", ids: hits.map(({ id }) => id) }));
  useKeys({ Escape: () => go(addressOf({ ...form, query: "" })) });
  const selection = useSelection({ items: hits, may, onTagged: () => searching.run(limit) });
  if (searching.error) {
    return html`<div class="results"><${LoadProblem} error=${searching.error}
      onRetry=${() => searching.run(limit)} /></div>`;
  }
  if (!answer) return before ?? html`<${Loading} />`;
  const isClose = Boolean(answer.closer_hits) || hits.some((hit) => !level("weak")(hit));
  return html`
    ${isClose && html`<${Head} ...${{ answer, hits, selection }} />`}
    ${answer.degraded && html`<div class="results"><${Note} kind="warn"><p>${answer.degraded}</p></></div>`}
    ${!isClose && html`<${None} ...${{ form, may, facets }} />`}
    <div class=${selection.isPicking ? "picking" : ""} ref=${selection.list}>
      <${Hits} answer=${answer} hits=${hits} rowOf=${selection.rowOf} /></div>
    ${isClose && answer.memories.length >= limit && html`<div class="list-end">${limit < MOST
      ? html`<${Button} busy=${searching.busy} onClick=${() => setLimit(MOST)}>Load more</>`
      : html`<p class="help">These are the best ${number(MOST)}. Filters find others.</p>`}</div>`}
    ${selection.dialog}`;
}

function Head({ answer, hits, selection }) {
  const { window: times } = answer;
  const end = (time) => (time ? formatTime(time) : "…");
  return html`<div class="list-head"><span class="grow" role="status"><strong>${resultText(hits)}</strong>
      ${times && html` <span class="faint wide">· ${end(times.after)} to ${end(times.before)}, ${ZONE}</span>`}</span>
    <${Button} class="btn quiet small" icon="check" aria-pressed=${String(selection.isPicking)}
      onClick=${() => selection.setIsPicking(!selection.isPicking)}>Pick</></div>`;
}

const addAddress = (content) => `/add?${new URLSearchParams({ content })}`;

function None({ form, may, facets }) {
  const isFiltered = hasFilter({ ...form, old: "" });
  const count = facets?.memories;
  const all = count === undefined ? "No memory" : `None of the ${countMemories(count)}`;
  const within = isFiltered ? " within these filters" : "";
  const link = (icon, name, address) => html`<a class="btn" href=${address}><${Icon} name=${icon} small />${name}</a>`;
  return html`<div class="panel pad stack none" role="status"><div class="stack-s"><h2>Nothing close was found</h2>
      <p class="soft">
        ${count === 1 ? `The only memory${within} is not` : `${all}${within} is`} about this.</p></div>
    <div class="btns">
      ${may.has("ingest_memory") && link("plus", "Add a memory about it", addAddress(form.query))}
      ${form.mode !== "exact" && link("search", "Search for the exact text", addressOf({ ...form, mode: "exact" }))}
      ${!form.old && link("clock", "Include replaced memories", addressOf({ ...form, old: "yes" }))}
      ${isFiltered && link("x", "Clear the filters", addressOf(withoutFilters(form)))}</div></div>`;
}
