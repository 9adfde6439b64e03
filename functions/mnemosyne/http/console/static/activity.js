// Activity: requests to store a memory, their outcomes, and retries.
import { html, useEffect, useState } from "./vendor/htm-preact.js";
import {
  Button, Heading, Icon, Line, Loading, More, Note, Problem, State, stateName, Time, useAction, usePages,
} from "./components.js";
import { rowDate } from "./dates.js";
import { DeadLetters } from "./dead_letters.js";
import { countFailures, failures, needsLook } from "./health.js";
import { call } from "./mcp.js";
import { useValue } from "./observable.js";
import { usePoll } from "./poll.js";
import { counted, number, plain } from "./text.js";
import { showToast } from "./toast.js";

const LIMIT = 50;
const TABS = ["", "queued", "stored", "duplicate", "deleted", "failed", "dead_lettered"];
const MOST_LETTERS = 100; // of one call
const MOST_SINGLE = 10;

export function Activity({ address, may }) {
  const state = address.searchParams.get("state") ?? "";
  const [counts, setCounts] = useState(null);
  const load = async (cursor) => {
    const filter = { ...(state ? { state } : {}), ...(cursor ? { cursor } : {}) };
    const page = await call("list_requests", { limit: LIMIT, ...filter });
    if (page.counts) setCounts(page.counts);
    return { items: page.requests, next: page.next_cursor };
  };
  const pages = usePages("requests", load);
  useEffect(() => void pages.start(), [state]);
  usePoll(async () => {
    if (!pages.isLoaded || pages.busy) return false;
    const merged = mergeRequests(pages.items, (await load()).items);
    const isSame = merged.every((item, index) => item === pages.items[index]);
    if (isSame && merged.length === pages.items.length) return false;
    pages.change(merged);
    return true;
  });
  const redriving = useRedrive(may, async () => {
    await Promise.all([pages.more(), countFailures(may)]);
  });
  return html`<div class="page-head"><${Heading}>Activity</><p>Requests to store a memory, and their results.</p></div>
    <div class="stack"><${NeedsLook} may=${may} redriving=${redriving} />
    <${Problem} error=${redriving.error} />
    <div class="panel flush"><${Tabs} state=${state} counts=${counts} />
      ${!pages.isLoaded && !pages.items.length && pages.busy && html`<${Loading} />`}
      ${pages.items.length > 0 && html`<${Table} ...${{ requests: pages.items, may, redriving }} />`}
      ${pages.isEmpty && html`<p class="pad soft">
        ${state ? "No requests in this state." : "No requests yet."}</p>`}</div>
    <${More} pages=${pages} />
    ${may.has("list_dead_letters") && html`<${DeadLetters} may=${may} onChanged=${() => pages.more()} />`}</div>`;
}

// Requests with the changes of a newer first page, in the order of the server. Unchanged requests keep their identity.
export function mergeRequests(before, newest) {
  const old = new Map(before.map((request) => [request.request_id, request]));
  const changed = newest.map((request) => {
    const known = old.get(request.request_id);
    return known && known.updated_at === request.updated_at && known.state === request.state ? known : request;
  });
  const ids = new Set(newest.map(({ request_id: id }) => id));
  return [...changed, ...before.filter(({ request_id: id }) => !ids.has(id))];
}

// Requests in groups: consecutive requests of the same import are one group.
export function groupImports(requests) {
  const groups = [];
  for (const request of requests) {
    const last = groups.at(-1);
    if (request.import_name && last?.name === request.import_name) last.requests.push(request);
    else groups.push({ name: request.import_name ?? null, requests: [request] });
  }
  return groups;
}

// Publish the messages of given-up requests again. A single letter may be redriven before it is due.
function useRedrive(may, onChanged) {
  const redriving = useAction(async (ids) => {
    const singly = ids.length <= MOST_SINGLE;
    const calls = singly ? ids.map((id) => ({ message_id: id })) : [{ message_ids: ids }];
    const problems = [];
    for (const which of calls) problems.push(...(await call("redrive", which)).problems);
    await onChanged();
    if (problems.length) throw new Error(problems.join("\n"));
    showToast(`${counted(ids.length, "request is", "requests are")} tried again.`);
  });
  return { ...redriving, mayRedrive: may.has("redrive") };
}

function NeedsLook({ may, redriving }) {
  const counts = useValue(failures);
  if (!needsLook(counts)) return null;
  const { failed, dead_lettered: given } = counts;
  const retry = async () => {
    const { dead_letters: letters } = await call("list_dead_letters", { limit: MOST_LETTERS });
    const ids = letters.filter((letter) => !letter.redriven_at).map(({ message_id: id }) => id);
    if (ids.length) redriving.run(ids);
    else showToast("All of them are being tried again.");
  };
  const button = given > 0 && redriving.mayRedrive && may.has("list_dead_letters") && html`
    <${Button} class="btn small" icon="retry" busy=${redriving.busy} onClick=${retry}>
      ${given === 1 ? "Retry it" : `Retry the ${number(given)}`}</>`;
  const parts = [given > 0 && `${number(given)} given up after several attempts`,
    failed > 0 && `${counted(failed, "error")} in a request`].filter(Boolean);
  return html`<${Note} kind="bad" role="status" button=${button || null}><p>
    <strong>${number(needsLook(counts))} ${needsLook(counts) === 1 ? "needs" : "need"} a look.</strong>${" "}
    ${parts.join(", ")}.</p></>`;
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

function Table({ requests, may, redriving }) {
  return html`<table class="table"><thead><tr><th>State</th><th>First words</th><th>From</th><th>When</th>
      <th><span class="sr">Action</span></th></tr></thead>
    <tbody>${groupImports(requests).map((group) => (group.requests.length > 1
      ? html`<${ImportRows} key=${group.requests[0].request_id} group=${group} ...${{ may, redriving }} />`
      : html`<${RequestRow} key=${group.requests[0].request_id} request=${group.requests[0]}
        ...${{ may, redriving }} />`))}
    </tbody></table>`;
}

const isFailure = ({ state }) => state === "failed" || state === "dead_lettered";

const failuresFirst = (requests) => [...requests.filter(isFailure), ...requests.filter((one) => !isFailure(one))];

function ImportRows({ group, may, redriving }) {
  const [isOpen, setIsOpen] = useState(false);
  const { name, requests } = group;
  const count = (states) => requests.filter(({ state }) => states.includes(state)).length;
  const [stored, known, failed] = [count(["stored"]), count(["duplicate"]), requests.filter(isFailure).length];
  const letters = requests.map(({ dead_letter: letter }) => letter).filter(Boolean);
  const main = failed ? "failed" : count(["queued"]) ? "queued" : "stored";
  return html`<tr><td><${State} state=${stored ? "stored" : main}>${stored ? `${number(stored)} stored` : null}</></td>
    <td><button class="expand" aria-expanded=${String(isOpen)} onClick=${() => setIsOpen(!isOpen)}>
      <${Icon} name="right" small />${name}</button>${" "}
      <span class="sub">${known > 0 && `${number(known)} already known`}${known > 0 && failed > 0 && ", "}
        ${failed > 0 && html`<span class="reason-in">${number(failed)} not stored</span>`}</span></td>
    <td class="sub wide">Import, ${counted(requests.length, "line")}</td>
    <td class="num sub"><${Time} at=${requests[0].updated_at} name=${rowDate} /></td>
    <td>${letters.length > 0 && html`<${Retry} ids=${letters} redriving=${redriving} name=${name} />`}</td></tr>
    ${isOpen && failuresFirst(requests).map((request) => html`
      <${RequestRow} key=${request.request_id} request=${request} isPart ...${{ may, redriving }} />`)}`;
}

const Retry = ({ ids, redriving, name }) => redriving.mayRedrive && html`<${Button} class="btn small" icon="retry"
  busy=${redriving.busy} onClick=${() => redriving.run(ids)} aria-label=${`Retry ${name}`}>Retry</>`;

// Name of a request: its first words, else its source, else its id.
const wordsOf = ({ first_words: words, source, key, request_id: id }) => {
  if (words?.trim()) return plain(words);
  return source ? `${source} ${key}` : id;
};

function fromOf({ client, import_name: file, import_line: line, source }) {
  if (file) return line ? `${file}, line ${line}` : file;
  return client ?? source ?? "";
}

function RequestRow({ request, may, redriving, isPart = false }) {
  const { state, error, note, attempts, memory_id: id, dead_letter: letter } = request;
  const from = isPart && request.import_line ? `Line ${number(request.import_line)}` : fromOf(request);
  return html`<tr class=${isPart ? "part" : ""}><td><${State} state=${state} /></td>
    <td><${Line} text=${wordsOf(request)} />${error && html`<span class="reason">${error}</span>`}
      ${note && html`<span class="sub block">${note}</span>`}
      ${attempts > 1 && html`<span class="sub block">${counted(attempts, "attempt")}</span>`}</td>
    <td class="sub wide">${from}</td>
    <td class="num sub"><${Time} at=${request.updated_at} name=${rowDate} /></td>
    <td>${state === "dead_lettered" && letter ? html`<${Retry} ids=${[letter]} redriving=${redriving}
      name=${wordsOf(request)} />`
      : id && state !== "deleted" && may.has("get_memory") && html`<a class="btn quiet small"
        href=${`/memories/${id}`}>Open</a>`}</td></tr>`;
}
