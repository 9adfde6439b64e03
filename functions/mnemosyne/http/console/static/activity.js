// Activity: requests to store a memory, their outcomes, and retries.
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { Bar, BarAction, partsOf } from "./bulk.js";
import {
  Button, Heading, Loading, More, Note, Problem, stateName, useAction, useChange, usePages,
} from "./components.js";
import { DeadLetters, Deletion, waitingLetters } from "./dead_letters.js";
import { countFailures, failures, needsLook, setFailures } from "./health.js";
import { useKeys } from "./keys.js";
import { call, client } from "./mcp.js";
import { useValue } from "./observable.js";
import { loadAgain, usePoll } from "./poll.js";
import { isGivenUp, Requests } from "./requests.js";
import { useBar } from "./shell.js";
import { quantity, number } from "./text.js";
import { showToast } from "./toast.js";

const LIMIT = 50;
const TABS = ["", "queued", "stored", "duplicate", "deleted", "failed", "dead_lettered"];
const MOST_SINGLE = 10;
const REST_MS = 1000;

export function Activity({ address, may }) {
  const state = address.searchParams.get("state") ?? "";
  const { pages, counts, handlers } = useRequests(state);
  const isReady = useRef(false); // whether requests are loaded; dead letters below wait, so that they do not move
  isReady.current ||= !pages.isLoading;
  const [changes, setChanges] = useState(0); // after each change of a dead letter, the dead letters are loaded again
  const onChanged = async () => {
    await Promise.all([pages.reload(), countFailures(may).catch(() => null)]); // counted again later
    setChanges((before) => before + 1);
  };
  const redriving = useRedrive(may, onChanged);
  const { picks, question } = usePicks({ requests: pages.items, may, redriving, onChanged });
  return html`<div class="page-head"><${Heading}>Activity</><p>Requests to store a memory, and their results.</p></div>
    <div class="stack"><${NeedsLook} may=${may} redriving=${redriving} />
    <${Problem} error=${redriving.error} />
    <div class="panel flush" ...${handlers}><${Tabs} state=${state} counts=${counts} />
      ${pages.isLoading && html`<${Loading} />`}
      ${pages.items.length > 0 && html`<${Requests} requests=${pages.items}
        ...${{ may, redriving, picks }} />`}
      ${pages.isEmpty && html`<p class="pad soft" role="status">
        ${state ? "No requests in this state." : "No requests yet."}</p>`}</div>
    <${More} pages=${pages} />
    ${isReady.current && may.has("list_dead_letters") && html`<${DeadLetters} key=${changes} may=${may}
      onChanged=${pages.reload} />`}
    ${question}</div>`;
}

// The list of requests in a state, which is refreshed again and again, and the numbers of requests by state. `handlers`
// are the handlers of the pointer over the list.
function useRequests(state) {
  const [counts, setCounts] = useState(null);
  const load = async (cursor) => {
    const filter = { ...(state ? { state } : {}), ...(cursor ? { cursor } : {}) };
    const page = await call("list_requests", { limit: LIMIT, ...filter });
    return { items: page.requests, next: page.next_cursor, counts: page.counts };
  };
  const show = ({ counts: next }) => {
    if (!next) return;
    setCounts(next);
    setFailures(next, true);
  };
  const pages = usePages("requests", async (cursor) => {
    const page = await load(cursor);
    show(page);
    return page;
  });
  useEffect(() => void pages.start(), [state]);
  const pointer = usePointer();
  usePoll(async () => {
    if (!pages.isLoaded || pages.busy) return false;
    // If the list shows only one state, any loaded request may have left this state.
    const loaded = pointer.isMoving() ? null : await loadAgain(load, state ? pages.items.length : 0);
    if (!loaded || pointer.isMoving()) return true;
    show(loaded);
    return refresh(pages, loaded);
  });
  return { pages, counts, handlers: pointer.handlers };
}

// Update the list from its first page or pages. Return whether the list has changed.
async function refresh(pages, { items, next }) {
  const merge = (before) => mergeRequests(before, items, !next);
  const merged = merge(pages.items);
  const isGap = items.length >= LIMIT && !merged.slice(0, items.length).some((item) => pages.items.includes(item));
  if (isGap || (!next && pages.next)) {
    await pages.reload(); // changed requests may follow beyond this page, or the whole list is now one page
    return true;
  }
  const isSame = merged.every((item, index) => item === pages.items[index]);
  if (isSame && merged.length === pages.items.length) return false;
  pages.change(merge);
  return true;
}

// Whether the pointer has moved over the list in the last second. No row moves meanwhile, because a person may be about
// to click, and the button of another row would then be below the pointer.
function usePointer() {
  const lastMove = useRef(-REST_MS);
  const onPointerMove = () => { lastMove.current = performance.now(); };
  const isMoving = () => performance.now() < lastMove.current + REST_MS;
  return { handlers: { onPointerMove, onPointerDown: onPointerMove }, isMoving };
}

// The requests that the person has picked, and the bar with buttons that retry or delete these requests. `picks` is
// null if the person may neither retry nor delete requests.
function usePicks({ requests, may, redriving, onChanged }) {
  const [picks, setPicks] = useState(new Set());
  const [isAsking, setIsAsking] = useState(false);
  const selection = requests.filter((request) => picks.has(request.request_id) && isGivenUp(request));
  const letters = [...new Set(selection.map(({ dead_letter: letter }) => letter))];
  const clear = () => setPicks(new Set());
  const toggle = (ids, isPicked) => setPicks((before) => {
    const others = [...before].filter((id) => !ids.includes(id));
    return new Set(isPicked ? [...others, ...ids] : others);
  });
  const retry = () => {
    clear();
    redriving.run(letters);
  };
  const [mayRetry, mayDelete] = [redriving.mayRedrive, may.has("drop_dead_letters")];
  useKeys({ Escape: () => (picks.size ? clear() : false) });
  useBar(selection.length > 0 && html`<${Bar} name="Actions on the picked requests" count=${selection.length}
    onClear=${clear}>
    ${mayRetry && html`<${BarAction} icon="retry" name="Retry" onClick=${retry} />`}
    ${mayDelete && html`<${BarAction} icon="trash" name="Delete …" onClick=${() => setIsAsking(true)} />`}</>`);
  const onDeleted = () => {
    clear();
    onChanged();
  };
  const question = isAsking && html`<${Deletion} letters=${letters} onClose=${() => setIsAsking(false)}
    onDeleted=${onDeleted} />`;
  return { picks: mayRetry || mayDelete ? { ids: picks, toggle } : null, question };
}

// Update the loaded requests (`before`) from a newer first page (`newest`), in the order of the server. An unchanged
// request stays the same object. A changed request has moved to the top of the list. A loaded request is removed if the
// page lacks it, but has an unchanged request that was loaded below it: the removed request has changed its state, and
// no longer belongs to the list. `isWhole` is true if the page is the whole list.
export function mergeRequests(before, newest, isWhole) {
  const old = new Map(before.map((request) => [request.request_id, request]));
  const changed = newest.map((request) => {
    const earlier = old.get(request.request_id);
    return earlier && earlier.updated_at === request.updated_at && earlier.state === request.state ? earlier : request;
  });
  const ids = new Set(newest.map(({ request_id: id }) => id));
  const end = isWhole ? before.length : before.findLastIndex((request) => changed.includes(request)) + 1;
  return [...changed, ...before.slice(end).filter(({ request_id: id }) => !ids.has(id))];
}

// Publish the messages of dead-lettered requests again. Up to MOST_SINGLE messages are published one by one, even
// during the wait after a failed retry. More messages are published with fewer calls, which skip messages in such a
// wait.
function useRedrive(may, onChanged) {
  const redriving = useChange("Retry", async (ids) => {
    const singly = ids.length <= MOST_SINGLE;
    const calls = singly ? ids.map((id) => ({ message_id: id })) : partsOf(ids).map((part) => ({ message_ids: part }));
    const problems = [];
    let requests = 0; // a message may have several requests
    const callTool = client.retrying();
    for (const which of calls) {
      const answer = await callTool("redrive", which);
      problems.push(...answer.problems);
      requests += answer.request_ids.length;
    }
    await onChanged();
    if (problems.length) throw new Error(problems.join("\n"));
    showToast(`${quantity(requests, "request is", "requests are")} tried again.`);
  });
  return { ...redriving, mayRedrive: may.has("redrive") };
}

function NeedsLook({ may, redriving }) {
  const counts = useValue(failures);
  const retrying = useAction(async () => {
    const { ids, inFlight } = await waitingLetters(call);
    if (ids.length) redriving.run(ids);
    else showToast(inFlight ? "All of them are being tried again." : "Not retried: their messages have been deleted.");
  });
  if (!needsLook(counts)) return null;
  const { failed, dead_lettered: given } = counts;
  const button = given > 0 && redriving.mayRedrive && may.has("list_dead_letters") && html`
    <${Button} class="btn small" icon="retry" busy=${redriving.busy || retrying.busy} onClick=${retrying.run}>
      ${given === 1 ? "Retry it" : `Retry the ${number(given)}`}</>`;
  const parts = [given > 0 && `${number(given)} given up after several attempts`,
    failed > 0 && `${quantity(failed, "error")} in a request`].filter(Boolean);
  return html`<${Note} kind="bad" role="status" button=${button || null}><p>
    <strong>${number(needsLook(counts))} ${needsLook(counts) === 1 ? "needs" : "need"} a look.</strong>${" "}
    ${parts.join(", ")}.</p></><${Problem} error=${retrying.error} />`;
}

function Tabs({ state, counts }) {
  const total = counts && Object.values(counts).reduce((sum, count) => sum + count, 0);
  const count = (value) => (value ? counts?.[value] ?? 0 : total);
  const kind = (value) => (["failed", "dead_lettered"].includes(value) && count(value) > 0 ? "num bad" : "num");
  return html`<nav class="tabs" aria-label="State">${TABS.map((value) => html`
    <a href=${value ? `/activity?state=${value}` : "/activity"} aria-current=${value === state ? "page" : null}>
      ${value ? stateName(value) : "All"}${counts && html` <span class=${kind(value)}>
        ${number(count(value))}</span>`}</a>`)}</nav>`;
}
