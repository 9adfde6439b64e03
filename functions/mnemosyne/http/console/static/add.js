// The page Add: store a new memory, and show the outcomes of the memories that were added last.
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { useParts } from "./add_parts.js";
import { forgetLists, go, goBack, markRead } from "./address.js";
import { Button, Heading, Icon, Note, Problem, State, Time, useAnswer, useChange, useRequired } from "./components.js";
import { deleteLater } from "./deletions.js";
import { useDrops } from "./drops.js";
import { useKeys } from "./keys.js";
import { call, client } from "./mcp.js";
import { parseMetadata } from "./metadata.js";
import { observable, useValue } from "./observable.js";
import { TagField } from "./tag_field.js";
import { characters, quantity, memories as countMemories, number, plain, shorten } from "./text.js";
import { ZONE } from "./time.js";
import { showToast } from "./toast.js";
import { askBeforeLeaving } from "./unsaved.js";

const EMPTY = { content: "", title: "", tags: [], when: "", session: "", metadata: "", replaces: "", isParts: false };
const WAIT_MS = 500;
const MOST_CHARACTERS = 100_000;
const MOST_ADDITIONS = 10;
const ONLY_DATES = "Write a date, such as 2026-05-01: your key lacks the scope read, which a time in words needs.";
const NOT_REPLACED = "It replaces nothing, because your key lacks the scope read.";
const LEAST_CHECKED = 12; // minimum characters of a content that is compared with stored memories

// The form, the form that is being sent, and the latest memories are kept while another page is open.
const draft = observable(null);
const pending = observable(null);
export const additions = observable([]);

// Empty the form before the next log-in, because the next person may have another namespace.
export function clearDraft() {
  draft.set(EMPTY);
  pending.set(null);
}

const isEmpty = ({ content, title, tags, when, session, metadata }) =>
  !tags.length && ![content, title, when, session, metadata].some((text) => text.trim());
askBeforeLeaving(() => draft.get() && !isEmpty(draft.get()));

const isTimestamp = (text) => /^\d{4}-\d{2}-\d{2}([T ][\d:.]+)?(Z|[+-]\d{2}:?\d{2})?$/u.test(text);

// Arguments of ingest_memory for a form. If the form has a time in words, such as "last week", `start` is the start of
// this period.
export function argumentsOf({ content, title, tags, when, session, metadata }, start = null) {
  const args = { content };
  if (title) args.title = title;
  if (tags.length) args.tags = tags;
  if (session) args.session = session;
  if (metadata.trim()) args.metadata = parseMetadata(metadata);
  if (start) args.timestamp = start;
  else if (when.trim()) Object.assign(args, { timestamp: when.trim(), timezone: ZONE });
  return args;
}

// A copy of the form with a date in place of a time in words. Otherwise "yesterday" would mean another day when the
// form is sent again tomorrow.
const withTime = (form, start) => (start ? { ...form, when: start } : form);

// Ask the server which period a time in words means, such as "last week", and return its start. The result is null if
// the text is empty or already a date. Throws an error if the caller has no right to ask.
export async function startOf(when, may) {
  if (!when.trim() || isTimestamp(when.trim())) return null;
  if (!may.has("list_memories")) throw new Error(ONLY_DATES);
  const { window: times } = await call("list_memories", { time_expr: when.trim(), timezone: ZONE, limit: 1 });
  return times.after ?? times.before;
}

// Arguments of similar_memories for a form, or null if its text is short. The session is sent too, because another
// session may have the same text.
export function similarArguments({ content, session }) {
  if (content.trim().length < LEAST_CHECKED) return null;
  return { content, ...(session && { session }) };
}

// Find stored memories with the same or similar content, a moment after the person has stopped typing. Nothing is
// stored.
function useSimilar(form, may) {
  const args = may.has("similar_memories") ? similarArguments(form) : null;
  return useAnswer(JSON.stringify(args), async () => args && call("similar_memories", args), WAIT_MS);
}

export function Add({ address, may }) {
  useState(() => startForm(address));
  const form = useValue(draft);
  const change = (fields) => draft.set({ ...draft.get(), ...fields });
  const field = useRef(null);
  const { parts, question, onPaste, close } = useParts({ form, change, draft, may, field });
  const [isOver, setIsOver] = useState(false);
  const similar = useSimilar(form, may);
  const [replaced] = useState(form.replaces);
  useDrops({ onOver: setIsOver, onTaken: tellImport, isOn: mayImport(may) });
  const isBusy = useValue(pending) !== null;
  const storing = useChange("Add", async () => {
    pending.set(form);
    await send(form, parts, may).finally(() => pending.get() === form && pending.set(null));
    if (draft.get() !== form) return; // the person has typed in the meantime
    close();
    draft.set(EMPTY);
    field.current?.focus();
  });
  const submit = (event) => {
    event.preventDefault();
    if (!isBusy && field.current.reportValidity()) storing.run();
  };
  useKeys({ "Ctrl+Enter": submit, Escape: goBack });
  useRequired(field, form.content);
  useEffect(() => field.current.focus(), []);
  return html`<div class="page-head"><${Heading}>Add a memory</></div>
    <div class="with-side"><form class="stack" onSubmit=${submit}>
      <div class=${isOver ? "field over" : "field"}><label class="sr" for="content">What should be remembered?</label>
        <textarea class="input read" id="content" rows="8" dir="auto" required ref=${field}
          placeholder="What should be remembered? Markdown is fine."
          value=${form.content} onPaste=${onPaste}
          onInput=${(event) => change({ content: event.target.value })}></textarea></div>
      ${question}
      <${Labels} ...${{ form, change, may }} />
      ${!parts && replaced && form.replaces === replaced && html`<${Replaces} ...${{ form, change }} />`}
      <${Problem} error=${storing.error} />
      <div class="btns"><${Button} class="btn main" type="submit" busy=${isBusy}>${parts
          ? `Add ${countMemories(parts.length)}` : "Add"}</>
        <span class="help wide"><kbd>Ctrl</kbd><kbd>Enter</kbd></span><span class="grow"></span>
        <span class="help num">
          ${number(characters(form.content))} of ${number(MOST_CHARACTERS)} characters</span></div>
      ${!parts && html`<${Known} ...${{ similar, replaced, form, change, may }} />`}</form>
    <${Additions} may=${may} /></div>`;
}

// Send the memory of a form, or one memory for each part, and follow their outcomes.
async function send(form, parts, may) {
  const start = await startOf(form.when, may);
  if (parts) return addParts(form, parts, start, may);
  const { request_id: id } = await call("ingest_memory", argumentsOf(form, start));
  return void follow([{ id, form: withTime(form, start) }], form.replaces, may);
}

// Store each part of the text as a memory. No title is sent, because all the memories would get the same title.
async function addParts(form, parts, start, may) {
  const forms = parts.map((content) => ({ ...form, content, title: "", isParts: false }));
  const memories = forms.map((part) => argumentsOf(part, start));
  const { request_ids: ids } = await call("ingest_memories", { memories });
  follow(ids.map((id, index) => ({ id, form: withTime(forms[index], start) })), "", may);
}

const mayImport = (may) => may.has("import_memories") && may.has("ingest_status");

const tellImport = (count) =>
  showToast(`Importing ${quantity(count, "file")} …`, { action: "Show", onAction: () => go("/import") });

// Fill the form from the parameters of the page's address: the text of a query without results, or the id of the memory
// that a new text corrects. If the form has already been filled from this address, keep the person's changes.
function startForm({ searchParams }) {
  const [isRead, before] = [markRead(), draft.get()];
  if (before && (isRead || !searchParams.size)) return;
  const [content, replaces] = [searchParams.get("content"), searchParams.get("replaces")];
  draft.set({ ...(before ?? EMPTY), ...(content && { content, replaces: "" }), ...(replaces && { replaces }) });
}

const Replaces = ({ form, change }) => html`<${Note} kind="info" icon="swap"><p>It replaces <a
  href=${`/memories/${form.replaces}`}>this memory</a>. <button class="link" type="button"
    onClick=${() => change({ replaces: "" })}>Keep both</button></p></>`;

// The note appears a moment after the person has stopped typing. It is below the button Add. Above the button, it would
// move the button just before a click. `replaced` is the memory whose note is above the button from the start.
function Known({ similar: { done: similar, error }, replaced, form, change, may }) {
  const memory = similar?.same ?? similar?.similar[0];
  const isReplaced = memory?.id === form.replaces;
  const isOther = form.replaces && !isReplaced && form.replaces !== replaced; // the new text replaces another memory
  return html`${isOther && html`<${Replaces} ...${{ form, change }} />`}
    ${error && html`<p class="help" role="status">The page cannot say whether this is stored: ${error.message}</p>`}
    ${memory && html`<${Similar} isSame=${Boolean(similar.same)} ...${{ memory, isReplaced, change, may }} />`}`;
}

const Similar = ({ memory, isSame, isReplaced, change, may }) => html`<${Note} kind="info" icon="same"
  role="status"><div class="stack-s">
    <p><strong>${isSame ? "This is stored already" : "Similar memory"}</strong>${" "}
      <span class="soft">· <${Time} at=${memory.timestamp} /></span></p>
    <p dir="auto" lang="">${memory.title}</p>
    <p class="btns"><a class="btn small" href=${`/memories/${memory.id}`}>Open it</a>
      ${!isSame && may.has("update_memory") && html`<${Button} class="btn small" aria-pressed=${String(isReplaced)}
        onClick=${() => change({ replaces: isReplaced ? "" : memory.id })}>Replace it with this</>`}</p></div></>`;

function Labels({ form, change, may }) {
  const set = (name) => (event) => change({ [name]: event.target.value });
  return html`<div class="cols">
    <div class="field"><label for="add-tags">Tags</label>
      <${TagField} id="add-tags" tags=${form.tags} onChange=${(tags) => change({ tags })} may=${may} /></div>
    <div class="field"><label for="when">When it happened</label>
      <input class="input" id="when" value=${form.when} onInput=${set("when")} aria-describedby="when-help"
        placeholder=${may.has("list_memories") ? "yesterday around noon" : "2026-05-01"} />
      <span class="help" id="when-help"><${When} text=${form.when} may=${may} /></span></div></div>
    <details class="fold"><summary><${Icon} name="right" small />Title, session, metadata</summary><div class="cols">
      <div class="field"><label for="add-title">Title</label><input class="input" id="add-title" dir="auto"
        value=${form.title} placeholder="Else its first words" onInput=${set("title")} /></div>
      <div class="field"><label for="add-session">Session</label>
        <input class="input" id="add-session" value=${form.session} onInput=${set("session")} /></div>
      <div class="field"><label for="add-metadata">Metadata <span class="faint">a JSON object</span></label>
        <textarea class="input mono" id="add-metadata" rows="2" spellcheck="false" value=${form.metadata}
          onInput=${set("metadata")}></textarea></div></div></details>`;
}

// Show which time the memory gets. If the text names a period, such as "last week", this is the start of the period.
function When({ text, may }) {
  const reading = useAnswer(text, () => startOf(text, may), WAIT_MS);
  if (!text.trim()) return "Empty is now.";
  if (reading.error) return reading.error.message;
  // Without a text, the button Add would move up until the server answers, and down again.
  return reading.done ? html`Stored as <${Time} at=${reading.done} />.` : "\u00a0";
}

const update = (id, fields) =>
  additions.set(additions.get().map((entry) => (entry.id === id ? { ...entry, ...fields } : entry)));

const isOpen = ({ state }) => state === "queued" || state === "unknown";

// Wait for the outcomes of requests, and show them. Each entry has the id of a request and the form of its memory. If a
// single request corrects a memory, `replaces` is the id of this memory, which is then superseded. Otherwise `replaces`
// is empty.
async function follow(entries, replaces, may) {
  const callTool = client.retrying();
  const most = Math.max(MOST_ADDITIONS, entries.length);
  additions.set([...entries.map((entry) => ({ ...entry, state: "queued" })), ...additions.get()].slice(0, most));
  forgetLists();
  const ids = entries.map(({ id }) => id);
  if (!may.has("ingest_status")) return void (replaces && update(ids[0], { error: NOT_REPLACED }));
  let memory = null;
  try {
    await client.outcomes(ids, (statuses) => {
      for (const status of statuses.filter((one) => !isOpen(one))) {
        memory = status.memory_id;
        update(status.request_id, { state: status.state, error: status.error, memory });
      }
    }, callTool);
  } catch (error) {
    for (const { id } of additions.get().filter((entry) => ids.includes(entry.id) && isOpen(entry))) {
      update(id, { error: replaces ? `It may be stored, but it replaces nothing: ${error.message}` : error.message });
    }
  }
  if (replaces && memory && memory !== replaces) {
    await callTool("update_memory", { id: replaces, superseded_by: memory })
      .catch((error) => update(ids[0], { error: `Stored, but it replaces nothing: ${error.message}` }));
  }
  forgetLists(...(replaces ? [replaces] : []));
}

function Additions({ may }) {
  const entries = useValue(additions);
  const help = html`<p class="help">After you paste a list or several paragraphs, the page asks whether they are one
    memory or several.${mayImport(may) && html` A file goes to <a href="/import">Import</a>, or drop it here.`}</p>`;
  if (!entries.length) return html`<aside class="side" aria-label="Files">${help}</aside>`;
  return html`<aside class="side" aria-label="Added just now"><section><h2>Added just now</h2>
    <div role="status" aria-atomic="false"><ul class="panel">${entries.map((entry) => html`<${Entry} key=${entry.id}
      entry=${entry} may=${may} />`)}</ul></div></section>${help}</aside>`;
}

function Entry({ entry, may }) {
  const { state, error, memory, form: { content } } = entry;
  const undo = () => {
    deleteLater([{ id: memory, title: plain(content) }]);
    additions.set(additions.get().filter((other) => other !== entry));
  };
  const again = () => {
    const current = draft.get();
    draft.set(entry.form);
    go("/add");
    if (!current?.content.trim()) return;
    showToast("The text that you had typed was replaced.", { onAction: () => draft.set(current) });
  };
  const isStored = state === "stored";
  const queued = may.has("ingest_status") ? "Waiting to be stored" : "Sent to be stored";
  return html`<li class="pad stack-s"><${State} state=${state}>${state === "queued" ? queued : null}</>
    <p class="small" dir="auto" lang="">${shorten(plain(content), 120)}</p>
    ${error && html`<p class="small wrong">${error}</p>`}
    <p class="small btns">${memory && may.has("get_memory") && html`<a href=${`/memories/${memory}`}>
      ${isStored ? "Open" : "Open the existing memory"}</a>`}
      ${isStored && memory && may.has("delete_memory") && html`<button class="link" onClick=${undo}>Delete</button>`}
      ${state === "failed" && html`<button class="link" onClick=${again}>Edit and add again</button>`}</p></li>`;
}
