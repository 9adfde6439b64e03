// Forget: choose memories, see all of them, and delete them with their texts everywhere.
import { html, useState } from "./vendor/htm-preact.js";
import { forgetLists } from "./address.js";
import { Button, Dialog, Heading, Note, Problem, Time, useAction } from "./components.js";
import { dayAndTime } from "./dates.js";
import { call, client } from "./mcp.js";
import { filtersOf } from "./search_form.js";
import { formatTags } from "./tags.js";
import { TagField } from "./tag_field.js";
import { memories as countMemories } from "./text.js";

const MOST = 50; // memories of a page
const EMPTY = { time: "", after: "", before: "", session: "" };

// The arguments that select the memories. Throws an error if nothing is chosen.
export function selectionOf({ isAll, tags, ...form }) {
  const filters = filtersOf({ ...EMPTY, ...form, session: form.session?.trim(), tags: formatTags(tags) });
  const isFiltered = Object.keys(filters).length > 0;
  if (isAll && isFiltered) throw new Error("Clear the other fields, or do not choose all memories.");
  if (!isAll && !isFiltered) throw new Error("Choose tags, a session or a time, or all memories.");
  return isAll ? { all: true } : filters;
}

// Forget the selected memories, some hundreds a call. `onProgress` gets the state after each call.
export async function forgetAll(selection, token, onProgress) {
  const callTool = client.retrying();
  let state = await call("forget_memories", { ...selection, token });
  onProgress(state);
  while (!state.finished) {
    state = await callTool("forget_memories", { forgetting_id: state.forgetting_id });
    onProgress(state);
  }
  forgetLists();
  return state;
}

export function Forget() {
  const [chosen, setChosen] = useState({ isAll: false, tags: [], ...EMPTY });
  const [preview, setPreview] = useState(null);
  const looking = useAction(async () => {
    setPreview(null);
    const selection = selectionOf(chosen);
    setPreview({ selection, ...(await call("forget_memories", { ...selection, limit: MOST })) });
  });
  const change = (part) => {
    setChosen({ ...chosen, ...part });
    setPreview(null);
  };
  const more = useAction(async () => {
    const next = await call("forget_memories", { ...preview.selection, limit: MOST, cursor: preview.next_cursor });
    setPreview({ ...preview, page: [...preview.page, ...next.page], next_cursor: next.next_cursor });
  });
  return html`<div class="narrow"><div class="page-head"><${Heading}>Forget</></div><div class="stack">
    <p class="soft">Forgetting deletes memories with their texts everywhere, also in messages that were not
      stored. Nothing brings them back. A signed receipt proves it.</p>
    <${Choice} chosen=${chosen} onChange=${change} looking=${looking} />
    ${preview && html`<${Preview} preview=${preview} more=${more} onDone=${() => setPreview(null)} />`}</div></div>`;
}

function Choice({ chosen, onChange, looking }) {
  const submit = (event) => {
    event.preventDefault();
    if (!looking.busy) looking.run();
  };
  const field = (name, label, kind = "text") => html`<div class="field"><label for=${`forget-${name}`}>${label}</label>
    <input class="input" id=${`forget-${name}`} type=${kind} value=${chosen[name]}
      onInput=${(event) => onChange({ [name]: event.target.value })} /></div>`;
  return html`<form class="panel pad stack" onSubmit=${submit}>
    <div class="field"><label for="forget-tags">With any of these tags</label>
      <${TagField} id="forget-tags" tags=${chosen.tags} onChange=${(tags) => onChange({ tags })} /></div>
    ${field("session", "Of this session")}${field("time", "Of a time, in words")}
    <div class="cols">${field("after", "From", "date")}${field("before", "To", "date")}</div>
    <label class="check"><input type="checkbox" checked=${chosen.isAll}
      onChange=${(event) => onChange({ isAll: event.target.checked })} /> Instead, all memories</label>
    <div class="btns"><${Button} class="btn main" type="submit" busy=${looking.busy}>
      Show what would be forgotten</></div>
    <${Problem} error=${looking.error} /></form>`;
}

function Preview({ preview, more, onDone }) {
  const [isAsking, setIsAsking] = useState(false);
  const [state, setState] = useState(null);
  const forgetting = useAction(() => forgetAll(preview.selection, preview.token, setState));
  const { memories, page, holds, next_cursor: next } = preview;
  const start = () => {
    setIsAsking(false);
    forgetting.run();
  };
  if (forgetting.done) return html`<${Done} state=${forgetting.done} onClose=${onDone} />`;
  if (!memories) return html`<p class="soft" role="status">No memory matches.</p>`;
  return html`<section class="stack" aria-labelledby="forget-count">
    <h2 id="forget-count">${countMemories(memories)} would be forgotten</h2>
    ${holds.map(({ id, reason }) => html`<${Note} key=${id} kind="warn"><p>A legal hold keeps some of these
      memories, so none can be forgotten: ${reason}</p></>`)}
    <ul class="panel flush plain">${page.map(({ id, timestamp, beginning }) => html`<li key=${id} class="pad small">
      <a href=${`/memories/${id}`} dir="auto">${beginning}</a> <${Time} class="soft" at=${timestamp}
        name=${dayAndTime} /></li>`)}</ul>
    ${next && html`<p><${Button} busy=${more.busy} onClick=${more.run}>Show more</></p>`}
    ${!holds.length && html`<p><${Button} class="btn danger" icon="trash" busy=${forgetting.busy}
      onClick=${() => setIsAsking(true)}>Forget ${countMemories(memories)}</></p>`}
    ${forgetting.busy && state && html`<p role="status" class="small">
      ${countMemories(state.memories - state.left)} forgotten, ${state.left} left …</p>`}
    <${Problem} error=${forgetting.error ?? more.error} />
    ${isAsking && html`<${Question} count=${memories} onYes=${start} onClose=${() => setIsAsking(false)} />`}
  </section>`;
}

const Question = ({ count, onClose, onYes }) => html`<${Dialog} title=${`Forget ${countMemories(count)}?`}
  onClose=${onClose} foot=${html`<${Button} onClick=${onClose}>Cancel</>
    <${Button} class="btn danger" onClick=${onYes}>Forget ${countMemories(count)}</>`}>
  <p>This cannot be undone. If you close the tab, <code>mnemosyne forget --continue</code> goes on.</p></>`;

const Done = ({ state, onClose }) => html`<${Note} kind="good" role="status" button=${html`
  <${Button} class="btn small" onClick=${onClose}>Close</>`}>
  <p>${countMemories(state.memories)} forgotten. The receipt:${" "}
    <code>mnemosyne receipt show ${state.forgetting_id}</code></p></>`;
