// Edit the title, tags, metadata and expiry of a memory. The content of a memory never changes: a correction is a new
// memory that supersedes this one.
import { html, useEffect, useState } from "./vendor/htm-preact.js";
import { forgetLists, goUp } from "./address.js";
import { Button, Heading, Icon, Loading, LoadProblem, Note, Problem, useAction, useChange } from "./components.js";
import { localDate, startOfDate } from "./dates.js";
import { useKeys } from "./keys.js";
import { call } from "./mcp.js";
import { formatMetadata, mergeMetadata, parseMetadata } from "./metadata.js";
import { TagField } from "./tag_field.js";
import { showToast } from "./toast.js";
import { askBeforeLeaving } from "./unsaved.js";

// The fields of the form, from a memory. The field for the title is empty if the server has taken the title from the
// text.
export const labelsOf = ({ title, title_given: isGiven, tags, metadata, expires_at: expiresAt, pinned = false }) => ({
  title: isGiven === false ? "" : title,
  tags,
  metadata: formatMetadata(metadata),
  expiry: expiresAt ? localDate(new Date(expiresAt)) : "",
  pinned,
});

// Arguments of update_memory with the changed fields of the form, or null if none has changed. The tags are not
// included: tagChangesOf returns them for a separate call.
export function changesOf(memory, form) {
  const before = labelsOf(memory);
  const changes = {};
  if (form.title !== before.title) changes.title = form.title;
  if (form.metadata !== before.metadata) changes.metadata = parseMetadata(form.metadata);
  if (form.expiry !== before.expiry) changes.expires_at = form.expiry ? startOfDate(form.expiry) : "none";
  if (form.pinned !== before.pinned) changes.pinned = form.pinned;
  return Object.keys(changes).length ? { id: memory.id, ...changes } : null;
}

// Arguments of update_memory for the tags that were added and removed; null if there are none. Other tags stay as they
// are, because they may have changed since the form was opened.
export function tagChangesOf({ id, tags }, form) {
  const added = form.tags.filter((tag) => !tags.includes(tag));
  const removed = tags.filter((tag) => !form.tags.includes(tag));
  if (!added.length && !removed.length) return null;
  return { id, ...(added.length && { add_tags: added }), ...(removed.length && { remove_tags: removed }) };
}

// Changes as arguments of update_memory, with changed metadata merged into the metadata that the memory has now.
async function withCurrentMetadata({ id, metadata: before }, changes) {
  if (!changes?.metadata) return changes;
  const { metadata: current } = await call("get_memory", { id });
  return { ...changes, metadata: mergeMetadata(before, changes.metadata, current) };
}

// Forms with changes that are not saved, by the id of the memory: `form`, and `memory` as it was when the form was
// opened. They are kept while another page is open.
const drafts = new Map();

// Forget the changes before another person logs in.
export const clearEdits = () => drafts.clear();
askBeforeLeaving(() => drafts.size > 0);

export function Edit({ id, may }) {
  const reading = useAction(async () => drafts.get(id)?.memory ?? call("get_memory", { id, neighbours: true }));
  useEffect(() => void reading.run(), []);
  if (reading.done) return html`<${Form} id=${id} memory=${reading.done} may=${may} />`;
  return html`<div class="stack"><${Heading}>Edit</>
    <${LoadProblem} error=${reading.error} onRetry=${() => reading.run()} />
    ${!reading.error && html`<${Loading} rows=${3} />`}</div>`;
}

// The fields of the form, a function that changes a field, and whether the form has changes of an earlier visit.
function useDraft(id, memory) {
  const [isDraft] = useState(drafts.has(id));
  const [form, setForm] = useState(drafts.get(id)?.form ?? labelsOf(memory));
  const change = (name, value) => {
    const next = { ...form, [name]: value };
    drafts.set(id, { memory, form: next });
    setForm(next);
  };
  return { form, change, isDraft };
}

function Form({ id, memory, may }) {
  const { form, change, isDraft } = useDraft(id, memory);
  const address = `/memories/${id}`;
  const discard = () => drafts.delete(id);
  const leave = () => goUp(address, { isReplaced: true });
  const saving = useChange("Save", async () => {
    const { href } = location;
    const labels = await withCurrentMetadata(memory, changesOf(memory, form));
    const changes = [labels, tagChangesOf(memory, form)].filter(Boolean);
    for (const fields of changes) await call("update_memory", fields);
    if (drafts.get(id)?.form === form) discard(); // else the person has typed in the meantime
    if (changes.length) {
      forgetLists(id);
      showToast("Saved.");
    }
    if (location.href === href && !drafts.has(id)) leave(); // the person may have left the page
  });
  const submit = (event) => {
    event.preventDefault();
    if (!saving.busy) saving.run();
  };
  useKeys({ "Ctrl+Enter": submit, Escape: leave });
  return html`<div class="bar-top"><div class="grow"><a class="btn quiet" href=${address} data-up onClick=${discard}>
      <${Icon} name="left" small />Cancel</a></div><span class="wide help"><kbd>Ctrl</kbd><kbd>Enter</kbd></span>
      <${Button} class="btn main" busy=${saving.busy} onClick=${submit}>Save</></div>
    <div class="with-side"><form class="panel sheet stack" onSubmit=${submit}>
      <${Heading} class="sr">Edit: ${memory.title}</>
      <div class="field"><label for="title">Title</label><input class="input" id="title" dir="auto"
        value=${form.title} required=${memory.title_given !== false} placeholder="Else its first words"
        onInput=${(event) => change("title", event.target.value)} /></div>
      <div class="field"><label for="new-tags">Tags</label>
        <${TagField} id="new-tags" tags=${form.tags} onChange=${(tags) => change("tags", tags)} may=${may} /></div>
      <div class="field"><label for="metadata">Metadata <span class="faint">a JSON object</span></label>
        <textarea class="input mono" id="metadata" rows="4" spellcheck="false" value=${form.metadata}
          onInput=${(event) => change("metadata", event.target.value)}></textarea></div>
      <${Expiry} form=${form} onChange=${change} />
      ${isDraft && html`<p class="help" role="status">You made these changes before. They are not saved yet.</p>`}
      <${Problem} error=${saving.error} /></form>
    <aside class="side" aria-label="The text"><${Note}><div class="stack-s">
      <p><strong>The text itself stays as it is.</strong></p>
      <p class="soft">A correction replaces this memory in every search. This one stays in its history.</p>
      ${may.has("ingest_memory") && html`<p><a class="btn small" href=${`/add?replaces=${id}`}>
        <${Icon} name="edit" small />Write a correction</a></p>`}</div></></aside></div>`;
}

const Expiry = ({ form, onChange }) => html`<div class="field">
  <label for="expiry">Expires <span class="faint">at the start of the day</span></label>
  <input class="input" id="expiry" type="date" value=${form.expiry}
    onInput=${(event) => onChange("expiry", event.target.value)} />
  <label class="check"><input type="checkbox" checked=${form.pinned}
    onChange=${(event) => onChange("pinned", event.target.checked)} />
    <span>Keep <span class="faint">after the namespace's default lifetime</span></span></label></div>`;
