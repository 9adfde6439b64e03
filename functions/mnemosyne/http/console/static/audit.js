// Audit trail: who did what, the latest first, for operators.
import { html, useEffect, useState } from "./vendor/htm-preact.js";
import { go } from "./address.js";
import { Button, Heading, Icon, Loading, More, State, Time, usePages } from "./components.js";
import { call } from "./mcp.js";
import { number } from "./text.js";
import { ZONE } from "./time.js";

const LIMIT = 50;
const FIELDS = ["person", "action", "after", "before"];
const SHOWN_IDS = 3; // further ids are hidden until the person opens them
const END = 8; // number of shown characters, from the end of an id, because recent ids begin alike

// Return the filters of an address or a form as an object. Values are trimmed, and empty filters are left out.
export function auditFilters(values) {
  const given = FIELDS.map((name) => [name, values[name]?.trim()]);
  return Object.fromEntries(given.filter(([, value]) => value));
}

export function auditAddress(values) {
  const params = new URLSearchParams(auditFilters(values)).toString();
  return params ? `/audit?${params}` : "/audit";
}

export function Audit({ address, may }) {
  const filters = auditFilters(Object.fromEntries(address.searchParams));
  const pages = usePages("events", async (cursor) => {
    const args = { ...filters, timezone: ZONE, limit: LIMIT, ...(cursor ? { cursor } : {}) };
    const page = await call("list_audit", args);
    return { items: page.events, next: page.next_cursor };
  });
  useEffect(() => void pages.start(), [address.search]);
  const isFiltered = Object.keys(filters).length > 0;
  return html`<div class="page-head"><${Heading}>Audit trail</><p>Who did what in this namespace, without contents.
      Reading it is recorded too.</p></div>
    <div class="stack"><${Filters} key=${address.search} ...${{ filters, isFiltered, may }} />
    <div class="panel flush">
      ${pages.isLoading && html`<${Loading} />`}
      ${pages.items.length > 0 && html`<${Events} events=${pages.items} ...${{ filters, may }} />`}
      ${pages.isEmpty && html`<p class="pad soft" role="status">
        ${isFiltered ? "No event matches." : "No events yet."}</p>`}</div>
    <${More} pages=${pages}>Older events</></div>`;
}

function Filters({ filters, isFiltered, may }) {
  const [values, setValues] = useState(filters);
  const submit = (event) => {
    event.preventDefault();
    go(auditAddress(values));
  };
  const field = (name, label, rest = {}) => html`<div class="field"><label for=${`audit-${name}`}>${label}</label>
    <input class="input" id=${`audit-${name}`} value=${values[name] ?? ""} ...${rest}
      onInput=${(event) => setValues({ ...values, [name]: event.target.value })} /></div>`;
  return html`<form class="panel pad stack" aria-label="Filters" onSubmit=${submit}>
    <div class="cols">${field("person", "Person or key", { placeholder: "ada@example.com" })}
      ${field("action", "Action", { placeholder: "delete_memory", list: "audit-actions" })}
      ${field("after", "From", { type: "date" })}${field("before", "To", { type: "date" })}</div>
    <datalist id="audit-actions">${[...may].sort().map((name) => html`<option value=${name} />`)}</datalist>
    <div class="btns"><${Button} class="btn main" type="submit">Apply</>
      ${isFiltered && html`<a class="btn" href="/audit">Clear all</a>`}</div></form>`;
}

function Events({ events, filters, may }) {
  return html`<table class="table"><thead><tr><th>Who</th><th>Action</th><th>Client</th><th>When</th><th>Outcome</th>
      <th>Count</th><th>Ids</th></tr></thead>
    <tbody>${events.map((event, index) => html`<${Event} key=${index} event=${event}
      ...${{ filters, may }} />`)}</tbody></table>`;
}

function Event({ event, filters, may }) {
  const { principal, action, outcome, at, count } = event;
  const who = event.name ?? principal;
  const client = event.client_name ?? event.client;
  return html`<tr>
    <td class="from" title=${principal}><a href=${auditAddress({ ...filters, person: principal })}>${who}</a></td>
    <td><a href=${auditAddress({ ...filters, action })}>${action}</a></td>
    <td class="sub wide from" title=${client}>${client === who ? "" : client}</td>
    <td class="num sub"><${Time} at=${at} /></td>
    <td><${State} state=${STATES[outcome] ?? "failed"}>${outcomeName(outcome)}</></td>
    <td class="num sub wide">${count > 0 && html`<span class="phone">Count: </span>${number(count)}`}</td>
    <td class="sub"><${Ids} event=${event} may=${may} /></td></tr>`;
}

// The state whose colour and icon an outcome has. Other outcomes are faults.
const STATES = { done: "stored", dry_run: "dry_run" };
const outcomeName = (outcome) => outcome.charAt(0).toUpperCase() + outcome.slice(1).replace("_", " ");

// The ids of an event. An id of a memory that exists is a link.
function Ids({ event: { ids, memories }, may }) {
  const existing = new Set(may.has("get_memory") ? memories : []);
  const shorten = (id) => (id.length > END ? `…${id.slice(-END)}` : id);
  const item = (id) => html`${" "}${existing.has(id)
    ? html`<a class="mono" href=${`/memories/${id}`} title=${id}>${shorten(id)}</a>`
    : html`<span class="mono" title=${id}>${shorten(id)}</span>`}`;
  const rest = ids.slice(SHOWN_IDS);
  return html`${ids.slice(0, SHOWN_IDS).map(item)}
    ${rest.length > 0 && html`<details class="fold"><summary><${Icon} name="right" small />
      ${number(rest.length)} more</summary><p>${rest.map(item)}</p></details>`}`;
}
