// Dead letters: messages that could not be stored, singly and by cause. Operators redrive and delete them.
import { html, useEffect, useState } from "./vendor/htm-preact.js";
import { partsOf } from "./bulk.js";
import { Button, Dialog, LoadProblem, More, Problem, Time, useAction, useChange, usePages } from "./components.js";
import { call } from "./mcp.js";
import { quantity } from "./text.js";
import { showToast } from "./toast.js";

const LIMIT = 50;

const isDue = (letter) => new Date(letter.due_at) <= new Date();
const MOST_IDS = 100; // maximum dead letters of a page
export const letterCount = (count) => quantity(count, "dead letter");

// Return the message ids of all dead letters that are not in flight, and the number of dead letters in flight. A dead
// letter is in flight if its message was published again and has no outcome yet.
export async function waitingLetters(callTool) {
  const ids = [];
  let inFlight = 0;
  let cursor = null;
  do {
    const page = await callTool("list_dead_letters", { limit: MOST_IDS, ...(cursor && { cursor }) });
    const waiting = page.dead_letters.filter((letter) => !letter.redriven_at);
    ids.push(...waiting.map(({ message_id: id }) => id));
    inFlight += page.dead_letters.length - waiting.length;
    cursor = page.next_cursor;
  } while (cursor);
  return { ids, inFlight };
}

export function DeadLetters({ may, onChanged }) {
  const [causes, setCauses] = useState([]);
  const pages = usePages("dead letters", async (cursor) => {
    const page = await call("list_dead_letters", { limit: LIMIT, ...(cursor ? { cursor } : {}) });
    if (page.causes) setCauses(page.causes);
    return { items: page.dead_letters, next: page.next_cursor };
  });
  useEffect(() => void pages.start(), []);
  const actions = useActions(may, () => Promise.all([pages.more(), onChanged()]));
  const groups = causes.filter(({ letters }) => letters > 1);
  if (!pages.items.length && !actions.redriving.done && actions.deleting.done === null) {
    return html`<${LoadProblem} error=${pages.error} onRetry=${() => pages.more()} />`;
  }
  return html`<section class="stack" aria-labelledby="dead"><h2 id="dead">Dead letters</h2>
    <${Results} actions=${actions} />
    ${pages.isEmpty && html`<p class="soft">No dead letters.</p>`}
    ${groups.length > 0 && html`<ul class="panel">${groups.map((cause) => html`
      <${Cause} key=${cause.cause} cause=${cause} actions=${actions} />`)}</ul>`}
    ${pages.items.length > 0 && html`<ul class="panel">${pages.items.map((letter) => html`
      <${Letter} key=${letter.message_id} letter=${letter} actions=${actions} />`)}</ul>`}
    <${More} pages=${pages} />
    ${actions.question}</section>`;
}

function Question({ count, onClose, onConfirm, change = null }) {
  const button = html`<${Button} class="btn danger" busy=${change?.busy} onClick=${onConfirm}>Delete permanently</>`;
  return html`<${Dialog} title=${`Delete ${letterCount(count)}?`} action=${button} ...${{ onClose, change }}>
    <p>Their memories are not stored, and they cannot be redriven any longer.</p>
    <${Problem} error=${change?.error} /></>`;
}

// The dialog that deletes some dead letters after a confirmation.
export function Deletion({ letters, onClose, onDeleted }) {
  const deleting = useChange("Delete", async () => {
    for (const part of partsOf(letters)) await call("drop_dead_letters", { message_ids: part });
    showToast(`${letterCount(letters.length)} deleted.`);
    onDeleted();
    return true;
  });
  return html`<${Question} count=${letters.length} onClose=${onClose} onConfirm=${deleting.run} change=${deleting} />`;
}

// Redrive dead letters, which means to publish their messages again, and delete dead letters, if the caller may do so.
function useActions(may, onChanged) {
  const [asked, setAsked] = useState(null); // arguments and count of the deletion that waits for a confirmation
  const redriving = useChange("Redrive", async (which) => {
    const { request_ids: ids, problems, remaining } = await call("redrive", which);
    await onChanged();
    return { requests: ids.length, problems, remaining };
  });
  const deleting = useChange("Delete", async ({ which }) => {
    const { dropped } = await call("drop_dead_letters", which);
    await onChanged();
    return dropped;
  });
  const asking = useAction(async (which) => {
    const { would_drop: count } = await call("drop_dead_letters", { ...which, dry_run: true });
    setAsked({ which, count });
  });
  const confirm = () => {
    deleting.run(asked);
    setAsked(null);
  };
  const close = () => setAsked(null);
  const question = asked && html`<${Question} count=${asked.count} onClose=${close} onConfirm=${confirm} />`;
  const [mayRedrive, mayDelete] = [may.has("redrive"), may.has("drop_dead_letters")];
  return { redriving, deleting, asking, question, mayRedrive, mayDelete };
}

function Results({ actions: { redriving, deleting, asking } }) {
  const { done } = redriving;
  return html`
    ${done && html`<p role="status">Published again: ${quantity(done.requests, "request")}.
      ${done.remaining > 0 && ` ${letterCount(done.remaining)} of this cause remain: redrive again.`}</p>`}
    ${done?.problems.map((problem) => html`<${Problem} error=${new Error(problem)} />`)}
    ${deleting.done !== null && html`<p role="status">${`Deleted ${letterCount(deleting.done)}.`}</p>`}
    ${[redriving, asking, deleting].map(({ error }) => html`<${Problem} error=${error} />`)}`;
}

// The buttons Redrive and Delete for one or more dead letters. `redrive` and `drop` are the arguments of the tools that
// the buttons call. If `redrive` is null, there is no button Redrive.
function Actions({ name, redrive, drop, actions: { redriving, deleting, asking, mayRedrive, mayDelete } }) {
  return html`<div class="btns">
    ${mayRedrive && redrive && html`<${Button} class="btn small" icon="retry" busy=${redriving.busy}
      onClick=${() => redriving.run(redrive)} aria-label=${`Redrive ${name}`}>Redrive</>`}
    ${mayDelete && html`<${Button} class="btn small danger" icon="trash" busy=${deleting.busy}
      onClick=${() => asking.run(drop)} aria-label=${`Delete ${name}`}>Delete …</>`}</div>`;
}

function Cause({ cause: { cause, letters, in_flight: inFlight, oldest }, actions }) {
  return html`<li class="pad stack-s"><p>${cause}</p>
    <p class="soft small">${letterCount(letters)}, ${inFlight} in flight; first failure <${Time} at=${oldest} /></p>
    <${Actions} name=${`all of the cause ${cause}`} redrive=${{ cause }} drop=${{ cause }} actions=${actions} /></li>`;
}

function Letter({ letter, actions }) {
  const { message_id: id, failures, redriven_at: redriven } = letter;
  const redrive = !redriven || isDue(letter) ? { message_id: id } : null;
  return html`<li class="pad stack-s"><p>${letter.cause}</p>
    <p class="soft small">Message ${id}, ${quantity(letter.bytes, "byte")}, first failure <${Time}
      at=${letter.dead_lettered_at} />
      ${failures > 1 && html`, ${failures} failures, the last <${Time} at=${letter.last_failed_at} />`}
      ${redriven && html`; in flight since <${Time} at=${redriven} />`}
      ${!redriven && !isDue(letter) && html`; not redriven by cause until <${Time} at=${letter.due_at} />`}</p>
    <${Actions} name=${`message ${id}`} redrive=${redrive} drop=${{ message_ids: [id] }} actions=${actions} /></li>`;
}
