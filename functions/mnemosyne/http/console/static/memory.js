// One memory: read, rate, edit, supersede and delete it.
import { html, useEffect, useState } from "./vendor/htm-preact.js";
import { forgetLists } from "./address.js";
import { Delete } from "./delete.js";
import { History } from "./history.js";
import { call } from "./mcp.js";
import { Button, Heading, Loading, Problem, Tags, Time, useAction } from "./components.js";
import { formatTags, parseTags } from "./tags.js";

const RATINGS = [[1, "Helpful"], [0, "Neutral"], [-1, "Misleading"]];

export function Memory({ id, may }) {
  const [isDeleted, setIsDeleted] = useState(false);
  const reading = useAction(() => call("get_memory", { id }));
  useEffect(() => void reading.run(), []);
  const memory = reading.done;
  const title = memory ? memory.title || "Untitled" : "Memory";
  let body;
  if (isDeleted) body = html`<p role="status">The memory was deleted.</p>`;
  else if (memory) body = html`<${Content} ...${{ id, may, memory, reading }} onDeleted=${() => setIsDeleted(true)} />`;
  else body = html`<${Problem} error=${reading.error} />${reading.busy && html`<${Loading} />`}`;
  // The heading is one element in all states, so that it keeps the focus.
  return html`<div><${Heading}>${isDeleted ? "Deleted" : title}</>${body}</div>`;
}

function Content({ id, may, memory, reading, onDeleted }) {
  const successor = memory.superseded_by;
  return html`<div>
    <article>
      <p class="note"><${Time} at=${memory.timestamp} /></p>
      ${successor && html`<p>Superseded by <a href=${`/memories/${successor}`}>a newer memory</a>.</p>`}
      <pre class="content" tabindex="0" aria-label="Content" dir="auto">${memory.content}</pre>
      ${memory.tags.length ? html`<${Tags} tags=${memory.tags} />` : null}
      <${Details} memory=${memory} />
    </article>
    ${may.has("memory_history") && html`<${History} key=${memory.quality + memory.superseded_by} id=${id} />`}
    ${may.has("rate_memory") && html`<${Rate} memory=${memory} onRated=${reading.run} />`}
    ${may.has("update_memory") && html`<${Edit} memory=${memory} onChanged=${reading.run} />`}
    ${may.has("delete_memory") && html`<${Delete} memory=${memory} onDeleted=${onDeleted} />`}
  </div>`;
}

function Details({ memory }) {
  const rows = {
    Id: memory.id,
    Session: memory.session,
    Quality: memory.quality.toFixed(3),
    Stored: memory.created_at,
    "Last read": memory.last_seen_at,
    "SHA-256": memory.content_hash,
    "Embedding model": memory.embedding_model,
    Metadata: formatMetadata(memory.metadata) || null,
  };
  return html`<details><summary>Details</summary><dl class="record">${Object.entries(rows)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl></details>`;
}

function Rate({ memory, onRated }) {
  const rating = useAction(async (value) => {
    const result = await call("rate_memory", { id: memory.id, rating: value });
    await onRated();
    return result;
  });
  const { busy, done } = rating;
  const button = ([value, name]) =>
    html`<${Button} class="other" busy=${busy} onClick=${() => rating.run(value)}>${name}</>`;
  return html`<section aria-labelledby="rate"><h2 id="rate">Rate</h2>
    <div class="row">${RATINGS.map(button)}</div>
    ${done && html`<p role="status">Quality ${done.quality_before.toFixed(2)} → ${done.quality_after.toFixed(2)}</p>`}
    <${Problem} error=${rating.error} /></section>`;
}

// Metadata as a person edits it. No metadata is an empty text.
export const formatMetadata = (metadata) => (Object.keys(metadata).length ? JSON.stringify(metadata, null, 1) : "");

// The inverse of formatMetadata. Throws if the text is not a JSON object.
export function parseMetadata(text) {
  let metadata;
  try {
    metadata = JSON.parse(text.trim() || "{}");
  } catch (error) {
    throw new Error(`The metadata cannot be read: ${error.message}`, { cause: error });
  }
  if (typeof metadata !== "object" || Array.isArray(metadata) || metadata === null) {
    throw new Error('The metadata must be a JSON object, such as {"mood": "calm"}.');
  }
  return metadata;
}

// The form of a memory's labels.
export const labelsOf = ({ title, tags, metadata, superseded_by: successor }) =>
  ({ title, tags: formatTags(tags), metadata: formatMetadata(metadata), successor: successor ?? "" });

// Arguments of update_memory: the fields that differ in the form. Throws if none differs.
export function changesOf(memory, form) {
  const before = labelsOf(memory);
  const tags = parseTags(form.tags);
  const successor = form.successor.trim();
  const changes = {};
  if (form.title !== before.title) changes.title = form.title;
  if (formatTags(tags) !== before.tags) changes.tags = tags.length ? tags : ["none"];
  if (form.metadata !== before.metadata) changes.metadata = parseMetadata(form.metadata);
  if (successor !== before.successor) changes.superseded_by = successor || "none";
  if (!Object.keys(changes).length) throw new Error("Nothing was changed in the form.");
  return { id: memory.id, ...changes };
}

function Edit({ memory, onChanged }) {
  const [form, setForm] = useState(labelsOf(memory));
  const changing = useAction(async () => {
    await call("update_memory", changesOf(memory, form));
    forgetLists();
    const changed = await onChanged();
    if (changed) setForm(labelsOf(changed));
    return true;
  });
  const submit = (event) => {
    event.preventDefault();
    if (!changing.busy) changing.run();
  };
  const field = (name) => ({ value: form[name], onInput: (event) => setForm({ ...form, [name]: event.target.value }) });
  return html`<section aria-labelledby="edit"><h2 id="edit">Edit</h2><form onSubmit=${submit}>
    <label for="title">Title</label><input id="title" required ...${field("title")} />
    <label for="new-tags">Tags</label><input id="new-tags" ...${field("tags")} />
    <label for="metadata">Metadata, as a JSON object</label>
    <textarea id="metadata" rows="2" class="code" ...${field("metadata")}></textarea>
    <label for="successor">Id of the memory that supersedes this one</label>
    <input id="successor" ...${field("successor")} />
    <${Button} busy=${changing.busy}>Save changes</>
    ${changing.done && html`<p role="status">Saved.</p>`}<${Problem} error=${changing.error} /></form></section>`;
}
