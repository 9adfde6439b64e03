// Outcomes of requests, and dead letters, which operators redrive and delete.
import { html, useEffect, useState } from "./vendor/htm-preact.js";
import { call } from "./mcp.js";
import { Button, Heading, More, Problem, useAction, usePages, When } from "./parts.js";

const LIMIT = 50;
const STATES = { "": "All", queued: "Queued", stored: "Stored", duplicate: "Duplicate", deleted: "Deleted", failed: "Failed", dead_lettered: "Dead-lettered" };

export function Outcomes({ address, may }) {
  const state = address.searchParams.get("state") ?? "";
  const pages = usePages("requests", async (cursor) => {
    const page = await call("list_requests", { limit: LIMIT, ...(state ? { state } : {}), ...(cursor ? { cursor } : {}) });
    return { found: page.requests, next: page.next_cursor };
  });
  useEffect(() => void pages.start(), [state]);
  return html`<div>
    <${Heading}>Outcomes</>
    <p class="note">Requests that the subscriber has seen, the latest first. What is on the topic still is not among them.</p>
    <ul class="tags" aria-label="States">${Object.entries(STATES).map(
      ([name, said]) => html`<li><a href=${name ? `/outcomes?state=${name}` : "/outcomes"} aria-current=${name === state ? "true" : null}>${said}</a></li>`,
    )}</ul>
    <ol class="entries">${pages.items.map((one) => html`<${Request} key=${one.request_id} request=${one} />`)}</ol>
    ${pages.next === "" && !pages.items.length && html`<p>There is none.</p>`}
    <${More} pages=${pages}>Earlier ones</>
    ${may.has("list_dead_letters") && html`<${DeadLetters} may=${may} onRedriven=${() => pages.more()} />`}
  </div>`;
}

const Request = ({ request }) => html`<li class="entry">
  <p class=${`outcome ${request.state}`}><strong>${STATES[request.state] ?? request.state}</strong> <span class="note"><${When} at=${request.updated_at} /></span></p>
  ${request.error && html`<p class="text">${request.error}</p>`}
  ${request.note && html`<p class="note">${request.note}</p>`}
  <p class="note">${request.source ? `${request.source} ${request.key}` : request.request_id}${request.attempts > 1 && ` · ${request.attempts} attempts`}
    ${request.memory_id && html` · <a href=${`/memories/${request.memory_id}`}>its memory</a>`}</p></li>`;

function DeadLetters({ may, onRedriven }) {
  const [causes, setCauses] = useState([]);
  const pages = usePages("dead letters", async (cursor) => {
    const page = await call("list_dead_letters", { limit: LIMIT, ...(cursor ? { cursor } : {}) });
    if (page.causes) setCauses(page.causes);
    return { found: page.dead_letters, next: page.next_cursor };
  });
  const changed = () => Promise.all([pages.more(), onRedriven()]);
  const redriving = useAction(async (which) => {
    const { request_ids: ids, problems, remaining } = await call("redrive", which);
    await changed();
    return { waiting: ids.length, problems, remaining };
  });
  const dropping = useAction(async (which) => {
    const { would_drop: count } = await call("drop_dead_letters", { ...which, dry_run: true });
    if (!confirm(`Delete ${letters(count)} for good?`)) return null;
    const { dropped } = await call("drop_dead_letters", which);
    await changed();
    return dropped;
  });
  useEffect(() => void pages.start(), []);
  const actions = (name, redriven, dropped) => html`<div class="row">
    ${may.has("redrive") && redriven && html`<${Button} class="other" busy=${redriving.busy} onClick=${() => redriving.run(redriven)}
      aria-label=${`Redrive ${name}`}>Redrive</>`}
    ${may.has("drop_dead_letters") && html`<${Button} class="other" busy=${dropping.busy} onClick=${() => dropping.run(dropped)}
      aria-label=${`Delete ${name}`}>Delete …</>`}</div>`;
  return html`<section aria-labelledby="dead"><h2 id="dead">Dead letters</h2>
    ${pages.next === "" && !pages.items.length && html`<p>None: nothing was given up.</p>`}
    ${redriving.done && html`<p role="status">${`On the queue again: ${redriving.done.waiting === 1 ? "1 request waits" : `${redriving.done.waiting} requests wait`}.`}
      ${redriving.done.remaining > 0 && ` ${letters(redriving.done.remaining)} of this cause are left: redrive them too.`}</p>`}
    ${redriving.done?.problems.map((problem) => html`<p class="problem" role="alert">${problem}</p>`)}
    ${dropping.done !== null && html`<p role="status">${`Deleted ${letters(dropping.done)}.`}</p>`}
    <${Problem} error=${redriving.error} /><${Problem} error=${dropping.error} />
    ${causes.some((one) => one.letters > 1) && html`<h3>By cause</h3><ol class="entries">${causes.map((one) => html`<li key=${one.cause} class="entry">
      <p class="text">${one.cause}</p>
      <p class="note">${letters(one.letters)}, ${one.in_flight} on the queue again; first failures since <${When} at=${one.oldest} /></p>
      ${actions(`all of the cause ${one.cause}`, { cause: one.cause }, { cause: one.cause })}</li>`)}</ol><h3>One by one</h3>`}
    <ol class="entries">${pages.items.map((one) => html`<li key=${one.message_id} class="entry">
      <p class="text">${one.cause}</p>
      <p class="note">Message ${one.message_id}, ${one.bytes} bytes, failed first <${When} at=${one.dead_lettered_at} />${one.failures > 1 && html`,
        ${one.failures} times, last <${When} at=${one.last_failed_at} />`}${one.redriven_at && html`; on the queue again since <${When} at=${one.redriven_at} />`}${!one.redriven_at && !isDue(one) && html`;
        left out of a redrive by cause until <${When} at=${one.due_at} />`}</p>
      ${actions(`message ${one.message_id}`, (!one.redriven_at || isDue(one)) && { message_id: one.message_id }, { message_ids: [one.message_id] })}</li>`)}</ol>
    <${More} pages=${pages}>Earlier ones</></section>`;
}

const isDue = (letter) => new Date(letter.due_at) <= new Date();
const letters = (count) => (count === 1 ? "1 dead letter" : `${count} dead letters`);
