// What became of every request, and what was given up: with reasons, and back on the queue for who may.
import { html, useEffect } from "./vendor/htm-preact.js";
import { call } from "./mcp.js";
import { Button, Heading, More, Problem, useAction, usePages, When } from "./parts.js";

const LIMIT = 50;
const STATES = { "": "All", queued: "Queued", stored: "Stored", duplicate: "Duplicate", failed: "Failed", dead_lettered: "Dead-lettered" };

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
  <p class="note">${request.source ? `${request.source} ${request.key}` : request.request_id}${request.attempts > 1 && ` · ${request.attempts} attempts`}
    ${request.memory_id && html` · <a href=${`/memories/${request.memory_id}`}>its memory</a>`}</p></li>`;

function DeadLetters({ may, onRedriven }) {
  const pages = usePages("dead letters", async (cursor) => {
    const page = await call("list_dead_letters", { limit: LIMIT, ...(cursor ? { cursor } : {}) });
    return { found: page.dead_letters, next: page.next_cursor };
  });
  const redriving = useAction(async (messageId) => {
    const { request_ids: ids } = await call("redrive", { message_id: messageId });
    await Promise.all([pages.more(), onRedriven()]);
    return ids.length;
  });
  useEffect(() => void pages.start(), []);
  return html`<section aria-labelledby="dead"><h2 id="dead">Dead letters</h2>
    ${pages.next === "" && !pages.items.length && html`<p>None: nothing was given up.</p>`}
    ${redriving.done !== null && html`<p role="status">It is on the queue again: ${redriving.done === 1 ? "1 request waits" : `${redriving.done} requests wait`}.</p>`}
    <${Problem} error=${redriving.error} />
    <ol class="entries">${pages.items.map((one) => html`<li key=${one.message_id} class="entry">
      <p class="text">${one.cause}</p>
      <p class="note">Message ${one.message_id}, ${one.bytes} bytes, <${When} at=${one.dead_lettered_at} /></p>
      ${may.has("redrive") && html`<${Button} class="other" busy=${redriving.busy} onClick=${() => redriving.run(one.message_id)}
        aria-label=${`Redrive message ${one.message_id}`}>Redrive</>`}</li>`)}</ol>
    <${More} pages=${pages}>Earlier ones</></section>`;
}
