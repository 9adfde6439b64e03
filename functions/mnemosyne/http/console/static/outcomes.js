// Activity: ingest requests with their outcomes, and dead letters, which operators redrive and delete.
import { html, useEffect, useState } from "./vendor/htm-preact.js";
import { call } from "./mcp.js";
import { Button, Heading, More, Problem, Time, useAction, usePages } from "./components.js";

const LIMIT = 50;
const STATES = {
  "": "All", queued: "Queued", stored: "Stored", duplicate: "Duplicate", deleted: "Deleted", failed: "Failed",
  dead_lettered: "Dead-lettered",
};

const isDue = (letter) => new Date(letter.due_at) <= new Date();
export const letterCount = (count) => (count === 1 ? "1 dead letter" : `${count} dead letters`);

export function Outcomes({ address, may }) {
  const state = address.searchParams.get("state") ?? "";
  const pages = usePages("requests", async (cursor) => {
    const filter = { ...(state ? { state } : {}), ...(cursor ? { cursor } : {}) };
    const page = await call("list_requests", { limit: LIMIT, ...filter });
    return { items: page.requests, next: page.next_cursor };
  });
  useEffect(() => void pages.start(), [state]);
  return html`<div>
    <${Heading}>Activity</>
    <p class="note">Requests that the subscriber has received, latest first. Requests on the topic are not listed.</p>
    <${States} state=${state} />
    <ol class="entries">${pages.items.map((request) => html`
      <${Request} key=${request.request_id} request=${request} />`)}</ol>
    ${pages.isEmpty && html`<p>No requests.</p>`}
    <${More} pages=${pages}>Show older</>
    ${may.has("list_dead_letters") && html`<${DeadLetters} may=${may} onChanged=${() => pages.more()} />`}
  </div>`;
}

function States({ state }) {
  const address = (value) => (value ? `/activity?state=${value}` : "/activity");
  const link = ([value, name]) => html`<li>
    <a href=${address(value)} aria-current=${value === state ? "true" : null}>${name}</a></li>`;
  return html`<ul class="tags" aria-label="States">${Object.entries(STATES).map(link)}</ul>`;
}

function Request({ request }) {
  const { state, source, key, memory_id: id, attempts } = request;
  return html`<li class="entry">
    <p class=${`outcome ${state}`}><strong>${STATES[state] ?? state}</strong>${" "}
      <span class="note"><${Time} at=${request.updated_at} /></span></p>
    ${request.error && html`<p class="text">${request.error}</p>`}
    ${request.note && html`<p class="note">${request.note}</p>`}
    <p class="note">${source ? `${source} ${key}` : request.request_id}${attempts > 1 && ` · ${attempts} attempts`}
      ${id && html` · <a href=${`/memories/${id}`}>memory</a>`}</p></li>`;
}

function DeadLetters({ may, onChanged }) {
  const [causes, setCauses] = useState([]);
  const pages = usePages("dead letters", async (cursor) => {
    const page = await call("list_dead_letters", { limit: LIMIT, ...(cursor ? { cursor } : {}) });
    if (page.causes) setCauses(page.causes);
    return { items: page.dead_letters, next: page.next_cursor };
  });
  useEffect(() => void pages.start(), []);
  const actions = useActions(may, () => Promise.all([pages.more(), onChanged()]));
  const hasGroups = causes.some(({ letters }) => letters > 1);
  return html`<section aria-labelledby="dead"><h2 id="dead">Dead letters</h2>
    ${pages.isEmpty && html`<p>No dead letters.</p>`}
    <${Results} actions=${actions} />
    ${hasGroups && html`<h3>By cause</h3>
      <ol class="entries">${causes.map((cause) => html`
        <${Cause} key=${cause.cause} cause=${cause} actions=${actions} />`)}</ol>
      <h3>All dead letters</h3>`}
    <ol class="entries">${pages.items.map((letter) => html`
      <${Letter} key=${letter.message_id} letter=${letter} actions=${actions} />`)}</ol>
    <${More} pages=${pages}>Show older</></section>`;
}

// Redrive and delete dead letters, as far as the caller may.
function useActions(may, onChanged) {
  const redriving = useAction(async (which) => {
    const { request_ids: ids, problems, remaining } = await call("redrive", which);
    await onChanged();
    return { requests: ids.length, problems, remaining };
  });
  const deleting = useAction(async (which) => {
    const { would_drop: count } = await call("drop_dead_letters", { ...which, dry_run: true });
    if (!confirm(`Delete ${letterCount(count)} permanently?`)) return null;
    const { dropped } = await call("drop_dead_letters", which);
    await onChanged();
    return dropped;
  });
  return { redriving, deleting, mayRedrive: may.has("redrive"), mayDelete: may.has("drop_dead_letters") };
}

function Results({ actions: { redriving, deleting } }) {
  const { done } = redriving;
  const requests = done?.requests === 1 ? "1 request" : `${done?.requests} requests`;
  return html`
    ${done && html`<p role="status">Published again: ${requests}.
      ${done.remaining > 0 && ` ${letterCount(done.remaining)} of this cause remain: redrive again.`}</p>`}
    ${done?.problems.map((problem) => html`<p class="problem" role="alert">${problem}</p>`)}
    ${deleting.done !== null && html`<p role="status">${`Deleted ${letterCount(deleting.done)}.`}</p>`}
    <${Problem} error=${redriving.error} /><${Problem} error=${deleting.error} />`;
}

// The buttons of one or more dead letters. `redrive` and `drop` are the tools' arguments; without `redrive` there is no
// such button.
function Actions({ name, redrive, drop, actions: { redriving, deleting, mayRedrive, mayDelete } }) {
  return html`<div class="row">
    ${mayRedrive && redrive && html`<${Button} class="other" busy=${redriving.busy}
      onClick=${() => redriving.run(redrive)} aria-label=${`Redrive ${name}`}>Redrive</>`}
    ${mayDelete && html`<${Button} class="other" busy=${deleting.busy}
      onClick=${() => deleting.run(drop)} aria-label=${`Delete ${name}`}>Delete …</>`}</div>`;
}

function Cause({ cause: { cause, letters, in_flight: inFlight, oldest }, actions }) {
  return html`<li class="entry">
    <p class="text">${cause}</p>
    <p class="note">${letterCount(letters)}, ${inFlight} in flight; first failure <${Time} at=${oldest} /></p>
    <${Actions} name=${`all of the cause ${cause}`} redrive=${{ cause }} drop=${{ cause }} actions=${actions} /></li>`;
}

function Letter({ letter, actions }) {
  const { message_id: id, failures, redriven_at: redriven } = letter;
  const redrive = !redriven || isDue(letter) ? { message_id: id } : null;
  return html`<li class="entry">
    <p class="text">${letter.cause}</p>
    <p class="note">Message ${id}, ${letter.bytes} bytes, first failure <${Time} at=${letter.dead_lettered_at} />
      ${failures > 1 && html`, ${failures} failures, the last <${Time} at=${letter.last_failed_at} />`}
      ${redriven && html`; in flight since <${Time} at=${redriven} />`}
      ${!redriven && !isDue(letter) && html`; not redriven by cause until <${Time} at=${letter.due_at} />`}</p>
    <${Actions} name=${`message ${id}`} redrive=${redrive} drop=${{ message_ids: [id] }} actions=${actions} /></li>`;
}
