// The table of requests. Requests of one import are a group. Dead-lettered requests have a checkbox and can be retried.
import { html, useState } from "./vendor/htm-preact.js";
import { Button, Icon, Line, State, Time } from "./components.js";
import { momentName } from "./dates.js";
import { quantity, number, plain } from "./text.js";

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

// Whether a request is dead-lettered and its message is kept, so that it can be retried.
export const isGivenUp = ({ state, dead_letter: letter }) => state === "dead_lettered" && Boolean(letter);

// `picks` has the `ids` of the picked requests, and the function `toggle`, which picks requests or clears their
// checkboxes. `picks` is null if the caller has no right to retry or to delete requests.
export function Requests({ requests, may, redriving, picks }) {
  const row = (group) => {
    const [first] = group.requests;
    return group.requests.length > 1
      ? html`<${ImportRows} key=${first.request_id} group=${group} ...${{ may, redriving, picks }} />`
      : html`<${RequestRow} key=${first.request_id} request=${first} ...${{ may, redriving, picks }} />`;
  };
  const hasBoxes = picks && requests.some(isGivenUp);
  return html`<table class=${hasBoxes ? "table picks" : "table"}><thead><tr><th>State</th>
      <th>First words</th><th>From</th><th>When</th><th><span class="sr">Action</span></th></tr></thead>
    <tbody>${groupImports(requests).map(row)}</tbody></table>`;
}

const isFailure = ({ state }) => state === "failed" || state === "dead_lettered";

const failuresFirst = (requests) => [...requests.filter(isFailure), ...requests.filter((one) => !isFailure(one))];

// A checkbox that picks the dead-lettered requests among `requests`. If there are none, nothing is shown.
function Pick({ requests, name, picks }) {
  const ids = requests.filter(isGivenUp).map(({ request_id: id }) => id);
  if (!picks || !ids.length) return null;
  const isPicked = ids.every((id) => picks.ids.has(id));
  return html`<label class="pick-request"><input type="checkbox" checked=${isPicked} aria-label=${`Pick: ${name}`}
    onClick=${() => picks.toggle(ids, !isPicked)} /></label>`;
}

function ImportRows({ group, may, redriving, picks }) {
  const [isOpen, setIsOpen] = useState(false);
  const { name, requests } = group;
  const count = (states) => requests.filter(({ state }) => states.includes(state)).length;
  const [stored, duplicates, failed] = [count(["stored"]), count(["duplicate"]), requests.filter(isFailure).length];
  const letters = requests.map(({ dead_letter: letter }) => letter).filter(Boolean);
  const main = failed ? "failed" : count(["queued"]) ? "queued" : "stored";
  return html`<tr><td><${Pick} requests=${requests} name=${name} picks=${picks} />
      <${State} state=${stored ? "stored" : main}>${stored ? `${number(stored)} stored` : null}</></td>
    <td><button class="expand" aria-expanded=${String(isOpen)} onClick=${() => setIsOpen(!isOpen)}>
      <${Icon} name="right" small />${name}</button>${" "}
      <span class="sub">${duplicates > 0 && `${number(duplicates)} already known`}
        ${duplicates > 0 && failed > 0 && ", "}
        ${failed > 0 && html`<span class="reason-in">${number(failed)} not stored</span>`}</span></td>
    <td class="sub wide from">Import, ${quantity(requests.length, "line")}</td>
    <td class="num sub"><${Time} at=${requests[0].updated_at} name=${momentName} /></td>
    <td>${letters.length > 0 && html`<${Retry} ids=${letters} redriving=${redriving} name=${name} />`}</td></tr>
    ${isOpen && failuresFirst(requests).map((request) => html`
      <${RequestRow} key=${request.request_id} request=${request} isPart ...${{ may, redriving, picks }} />`)}`;
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

function RequestRow({ request, may, redriving, picks, isPart = false }) {
  const { state, error, note, attempts, memory_id: id, dead_letter: letter } = request;
  const from = isPart && request.import_line ? `Line ${number(request.import_line)}` : fromOf(request);
  const isPicked = picks?.ids.has(request.request_id);
  return html`<tr class=${`${isPart ? "part" : ""}${isPicked ? " picked" : ""}`}>
    <td><${Pick} requests=${[request]} name=${wordsOf(request)} picks=${picks} /><${State} state=${state} /></td>
    <td><${Line} text=${wordsOf(request)} />${error && html`<span class="reason">${error}</span>`}
      ${note && html`<span class="sub block">${note}</span>`}
      ${attempts > 1 && html`<span class="sub block">${quantity(attempts, "attempt")}</span>`}</td>
    <td class="sub wide from" title=${from}>${from}</td>
    <td class="num sub"><${Time} at=${request.updated_at} name=${momentName} /></td>
    <td>${state === "dead_lettered" && letter ? html`<${Retry} ids=${[letter]} redriving=${redriving}
      name=${wordsOf(request)} />`
      : id && state !== "deleted" && may.has("get_memory") && html`<a class="btn quiet small"
        href=${`/memories/${id}`} aria-label=${`Open ${wordsOf(request)}`}>Open</a>`}</td></tr>`;
}
