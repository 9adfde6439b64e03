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
import { unsavedChanges } from "./unsaved.js";

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
// included: tagChangesOf returns them for a separate call. `earlier` are the forms that the page has sent before. A
// field that differs from one of these also counts as changed, because the server may have stored the value sent then.
export function changesOf(memory, form, earlier = []) {
  const isChanged = (name) => [labelsOf(memory), ...earlier].some((before) => form[name] !== before[name]);
  const changes = {};
  if (isChanged("title")) changes.title = form.title;
  if (changes.title?.trim() === "") throw new Error("Write a title: a memory's title can be changed, but not removed.");
  if (isChanged("metadata")) changes.metadata = parseMetadata(form.metadata);
  if (isChanged("expiry")) changes.expires_at = expiryOf(memory, form);
  if (isChanged("pinned")) changes.pinned = form.pinned;
  return Object.keys(changes).length ? { id: memory.id, ...changes } : null;
}

// The expiry that the form sets. The form has only the day. If the day is unchanged, the time of day is unchanged, too.
function expiryOf(memory, { expiry }) {
  if (!expiry) return "none";
  return expiry === labelsOf(memory).expiry ? memory.expires_at : startOfDate(expiry);
}

// Arguments of update_memory for the tags that were added and removed; null if there are none. Other tags stay as they
// are, because they may have changed since the form was opened.
export function tagChangesOf({ id, tags }, form, earlier = []) {
  const before = [tags, ...earlier.map((sent) => sent.tags)];
  const additions = form.tags.filter((tag) => before.some((list) => !list.includes(tag)));
  const removals = [...new Set(before.flat())].filter((tag) => !form.tags.includes(tag));
  if (!additions.length && !removals.length) return null;
  return { id, ...(additions.length && { add_tags: additions }), ...(removals.length && { remove_tags: removals }) };
}

// Changes as arguments of update_memory, with changed metadata merged into the metadata that the memory has now.
async function withCurrentMetadata({ id, metadata }, changes, earlier) {
  if (!changes?.metadata) return changes;
  const before = [metadata, ...earlier.map((sent) => parseMetadata(sent.metadata))];
  const { metadata: current } = await call("get_memory", { id });
  return { ...changes, metadata: before.reduce((now, old) => mergeMetadata(old, changes.metadata, now), current) };
}

// Forms with changes: `form`, `memory` as it was when the form was opened, and the forms `earlier` that were sent since
// then.
const drafts = unsavedChanges();

export function Edit({ id, may }) {
  const reading = useAction(async () => drafts.get(id)?.memory ?? call("get_memory", { id, neighbours: true }));
  useEffect(() => void reading.run(), []);
  if (reading.done) return html`<${Form} id=${id} memory=${reading.done} may=${may} />`;
  return html`<div class="stack"><${Heading}>Edit</>
    <${LoadProblem} error=${reading.error} onRetry=${() => reading.run()} />
    ${!reading.error && html`<${Loading} rows=${3} />`}</div>`;
}

// The fields of the form, a function that changes a field, whether the form has changes of an earlier visit, and the
// forms that were sent.
function useDraft(id, memory) {
  const [isDraft] = useState(drafts.has(id));
  const [earlier] = useState(drafts.get(id)?.earlier ?? []);
  const [form, setForm] = useState(drafts.get(id)?.form ?? labelsOf(memory));
  const change = (name, value) => {
    const next = { ...form, [name]: value };
    drafts.set(id, { memory, form: next, earlier });
    setForm(next);
  };
  return { form, change, isDraft, earlier };
}

function Form({ id, memory, may }) {
  const { form, change, isDraft, earlier } = useDraft(id, memory);
  const address = `/memories/${id}`;
  const discard = () => drafts.delete(id);
  const leave = () => goUp(address, { isReplaced: true });
  const saving = useChange("Save", async () => {
    const { href } = location;
    const labels = await withCurrentMetadata(memory, changesOf(memory, form, earlier), earlier);
    const changes = [labels, tagChangesOf(memory, form, earlier)].filter(Boolean);
    earlier.push(form);
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
