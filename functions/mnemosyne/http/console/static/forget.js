// The page Forget: choose memories, list all of them, and delete them with all their texts.
import { html, useState } from "./vendor/htm-preact.js";
import { forgetLists } from "./address.js";
import { Button, Dialog, Heading, Note, Problem, Time, useAction } from "./components.js";
import { dayAndTime } from "./dates.js";
import { person } from "./health.js";
import { call, client } from "./mcp.js";
import { observable, useValue } from "./observable.js";
import { filtersOf } from "./search_form.js";
import { formatTags } from "./tags.js";
import { TagField } from "./tag_field.js";
import { memories as countMemories, number } from "./text.js";

const MOST = 50; // maximum memories of a page
const EMPTY = { time: "", after: "", before: "", session: "" };

// The arguments that select the memories. Throws an error if nothing is chosen.
function selectionOf({ isAll, tags, ...form }) {
  const filters = filtersOf({ ...EMPTY, ...form, session: form.session?.trim(), tags: formatTags(tags) });
  const isFiltered = Object.keys(filters).length > 0;
  if (isAll && isFiltered) throw new Error("Clear the other fields, or do not choose all memories.");
  if (!isAll && !isFiltered) throw new Error("Choose tags, a session or a time, or all memories.");
  return isAll ? { all: true } : filters;
}

// The forgetting that this tab started last: `namespace`, `busy`, `state` (the server's last answer) and `error`. It
// continues while other pages are shown.
const latest = observable(null);

// Forget the memories of a preview. One call of the tool works for some seconds, so the function repeats the call until
// all the memories are forgotten.
async function forgetAll({ selection, token }) {
  const callTool = client.retrying();
  let own = { namespace: person.get()?.namespace, busy: true, state: null, error: null };
  latest.set(own);
  const show = (part) => {
    if (latest.get() !== own) return; // another person has started another forgetting
    own = { ...own, ...part };
    latest.set(own);
  };
  try {
    let state = await call("forget_memories", { ...selection, token });
    forgetLists();
    show({ state });
    while (!state.finished) {
      state = await callTool("forget_memories", { forgetting_id: state.forgetting_id });
      show({ state });
    }
    show({ busy: false });
  } catch (error) {
    show({ busy: false, error });
  }
}

// The forgetting that was started last in the namespace of the person.
function useLatest() {
  const [own, who] = [useValue(latest), useValue(person)];
  return own && own.namespace === who?.namespace ? own : { busy: false, state: null, error: null };
}

const page = (selection, cursor) =>
  call("forget_memories", { ...selection, limit: MOST, ...(cursor && { cursor }) });

// Load the memories that the person has chosen, page by page. `preview` is null if the choice has changed since then.
function usePreview(choice) {
  const [preview, setPreview] = useState(null);
  const looking = useAction(async () => {
    setPreview(null);
    const selection = selectionOf(choice);
    setPreview({ choice, selection, ...(await page(selection)) });
  });
  const more = useAction(async () => {
    // Send the token of the first page, so that a time in words, such as "last week", means the same period on every
    // page.
    const { selection, next_cursor: cursor, token } = preview;
    const next = await page({ ...selection, token }, cursor);
    if (next.token !== token) throw new Error("The memories have changed: show them again.");
    setPreview((before) => before === preview
      ? { ...preview, page: [...preview.page, ...next.page], next_cursor: next.next_cursor } : before);
  });
  return { preview: preview?.choice === choice ? preview : null, looking, more };
}

export function Forget({ may }) {
  const [choice, setChoice] = useState({ isAll: false, tags: [], ...EMPTY });
  const { busy, state, error } = useLatest();
  const { preview, looking, more } = usePreview(choice);
  const done = state?.finished ? state : null;
  const again = () => {
    latest.set(null);
    setChoice({ ...choice });
  };
  return html`<div class="narrow"><div class="page-head"><${Heading}>Forget</></div><div class="stack">
    <p class="soft">Forgetting deletes memories with all their texts in the database, including dead letters. It
      cannot be undone. A signed receipt states what was deleted, and where copies remain and until when.</p>
    ${!busy && !done && html`<${Choice} ...${{ choice, looking, may }}
      onChange=${(part) => setChoice({ ...choice, ...part })} />`}
    ${!busy && !done && preview && html`<${Preview} ...${{ preview, more }}
      onForget=${() => { if (!busy) forgetAll(preview); }} />`}
    ${state && !done && html`<${Progress} state=${state} />`}
    ${done && html`<${Done} state=${done} onClose=${again} />`}
    <${Problem} error=${error} /></div></div>`;
}

function Choice({ choice, onChange, looking, may }) {
  const submit = (event) => {
    event.preventDefault();
    if (!looking.busy) looking.run();
  };
  const field = (name, label, kind = "text") => html`<div class="field"><label for=${`forget-${name}`}>${label}</label>
    <input class="input" id=${`forget-${name}`} type=${kind} value=${choice[name]}
      onInput=${(event) => onChange({ [name]: event.target.value })} /></div>`;
  return html`<form class="panel pad stack" onSubmit=${submit}>
    <div class="field"><label for="forget-tags">With any of these tags</label>
      <${TagField} id="forget-tags" tags=${choice.tags} onChange=${(tags) => onChange({ tags })} may=${may} /></div>
    ${field("session", "Of this session")}${field("time", "Of a time, in words")}
    <div class="cols">${field("after", "From", "date")}${field("before", "To", "date")}</div>
    <label class="check"><input type="checkbox" checked=${choice.isAll}
      onChange=${(event) => onChange({ isAll: event.target.checked })} /> Instead, all memories</label>
    <div class="btns"><${Button} class="btn main" type="submit" busy=${looking.busy}>
      Show what would be forgotten</></div>
    <${Problem} error=${looking.error} /></form>`;
}

function Preview({ preview, more, onForget }) {
  const [isAsking, setIsAsking] = useState(false);
  const { memories, page: listed, holds, next_cursor: next } = preview;
  if (!memories) return html`<p class="soft" role="status">No memory matches.</p>`;
  return html`<section class="stack" aria-labelledby="forget-count">
    <h2 id="forget-count">${countMemories(memories)} would be forgotten</h2>
    ${holds.map(({ id, reason }) => html`<${Note} key=${id} kind="warn"><p>A legal hold keeps some of these
      memories, so none can be forgotten: ${reason}</p></>`)}
    <ul class="panel flush plain">${listed.map(({ id, timestamp, beginning }) => html`<li key=${id} class="pad small">
      <a href=${`/memories/${id}`} dir="auto" lang="">${beginning}</a> <${Time} class="soft" at=${timestamp}
        name=${dayAndTime} /></li>`)}</ul>
    ${next && html`<p><${Button} busy=${more.busy} onClick=${more.run}>Show more</></p>`}
    ${!holds.length && html`<p><${Button} class="btn danger" icon="trash"
      onClick=${() => setIsAsking(true)}>Forget ${countMemories(memories)}</></p>`}
    <${Problem} error=${more.error} />
    ${isAsking && html`<${Question} count=${memories} onYes=${onForget} onClose=${() => setIsAsking(false)} />`}
  </section>`;
}

const Progress = ({ state }) => html`<p class="small"><span role="status">
  ${countMemories(state.memories - state.left)} forgotten, ${number(state.left)} left …</span> To go on after the
  tab was closed:${" "}<${Command} name="forget" option="--continue " id=${state.forgetting_id} /></p>`;

const Question = ({ count, onClose, onYes }) => html`<${Dialog} title=${`Forget ${countMemories(count)}?`}
  onClose=${onClose}
  action=${html`<${Button} class="btn danger" onClick=${onYes}>Forget ${countMemories(count)}</>`}>
  <p>This cannot be undone.</p></>`;

const Done = ({ state, onClose }) => html`<${Note} kind="good" role="status" button=${html`
  <${Button} class="btn small" onClick=${onClose}>Close</>`}>
  <p>${countMemories(state.memories)} forgotten. The receipt:${" "}
    <${Command} name="receipt show" id=${state.forgetting_id} /></p></>`;

// The command for a terminal that continues a forgetting or shows its receipt.
function Command({ name, option = "", id }) {
  const { namespace = "default" } = useValue(person) ?? {};
  const quoted = /^[\w@%+=:,./-]+$/.test(namespace) ? namespace : `'${namespace.replaceAll("'", `'"'"'`)}'`;
  return html`<code>mnemosyne ${name} --namespace ${quoted} ${option}${id}</code>`;
}
