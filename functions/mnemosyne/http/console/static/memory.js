// One memory whole: read, label, rate, supersede, delete.
import { html, useEffect, useState } from "./vendor/htm-preact.js";
import { forgetLists } from "./address.js";
import { call } from "./mcp.js";
import { Delete } from "./delete.js";
import { History } from "./history.js";
import { Button, Heading, joined, listed, Problem, Tags, useAction, Waiting, When } from "./parts.js";

export function Memory({ id, may }) {
  const [deleted, setDeleted] = useState(false);
  const read = useAction(() => call("get_memory", { id }));
  useEffect(() => void read.run(), []);
  const memory = read.done;
  // The heading stays the same element, so that the keyboard stays at it.
  return html`<div>
    <${Heading}>${deleted ? "Deleted" : memory ? memory.title || "Untitled" : "Memory"}</>
    ${deleted ? html`<p role="status">The memory is no more.</p>` : memory
      ? html`<${Whole} id=${id} may=${may} memory=${memory} read=${read} onDeleted=${() => setDeleted(true)} />`
      : html`<${Problem} error=${read.error} />${read.busy && html`<${Waiting} />`}`}</div>`;
}

function Whole({ id, may, memory, read, onDeleted }) {
  return html`<div>
    <article>
      <p class="note"><${When} at=${memory.timestamp} /></p>
      ${memory.superseded_by && html`<p>A newer one replaces it: <a href=${`/memories/${memory.superseded_by}`}>read that</a>.</p>`}
      <pre class="content" tabindex="0" aria-label="Content" dir="auto">${memory.content}</pre>
      ${memory.tags.length ? html`<${Tags} tags=${memory.tags} />` : null}
      <${Record} memory=${memory} />
    </article>
    ${may.has("memory_history") && html`<${History} key=${memory.quality + memory.superseded_by} id=${id} />`}
    ${may.has("rate_memory") && html`<${Rate} memory=${memory} onRated=${read.run} />`}
    ${may.has("update_memory") && html`<${Labels} memory=${memory} onChanged=${read.run} />`}
    ${may.has("delete_memory") && html`<${Delete} memory=${memory} onDeleted=${onDeleted} />`}
  </div>`;
}

function Record({ memory }) {
  const rows = {
    Id: memory.id, Session: memory.session, Quality: memory.quality.toFixed(3), Stored: memory.created_at,
    "Last read": memory.last_seen_at, "SHA-256": memory.content_hash, "Embedded by": memory.embedding_model,
    Metadata: written(memory.metadata) || null,
  };
  return html`<details><summary>The record</summary><dl class="record">${Object.entries(rows)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl></details>`;
}

const RATINGS = [[1, "It helped"], [0, "Neither"], [-1, "It misled"]];

function Rate({ memory, onRated }) {
  const rating = useAction(async (value) => {
    const rated = await call("rate_memory", { id: memory.id, rating: value });
    await onRated();
    return rated;
  });
  return html`<section aria-labelledby="rate"><h2 id="rate">Did it help?</h2>
    <div class="row">${RATINGS.map(([value, said]) => html`<${Button} class="other" busy=${rating.busy} onClick=${() => rating.run(value)}>${said}</>`)}</div>
    ${rating.done && html`<p role="status">Quality ${rating.done.quality_before.toFixed(2)} → ${rating.done.quality_after.toFixed(2)}</p>`}
    <${Problem} error=${rating.error} /></section>`;
}

const written = (metadata) => (Object.keys(metadata).length ? JSON.stringify(metadata, null, 1) : "");

// The JSON object that was typed; nothing is an empty one.
function object(text) {
  let read;
  try {
    read = JSON.parse(text.trim() || "{}");
  } catch (error) {
    throw new Error(`The metadata cannot be read: ${error.message}`);
  }
  if (typeof read !== "object" || Array.isArray(read) || read === null) throw new Error('The metadata must be a JSON object, such as {"mood": "calm"}.');
  return read;
}

function Labels({ memory, onChanged }) {
  const [title, setTitle] = useState(memory.title);
  const [tags, setTags] = useState(joined(memory.tags));
  const [metadata, setMetadata] = useState(written(memory.metadata));
  const [successor, setSuccessor] = useState(memory.superseded_by ?? "");
  const change = useAction(async () => {
    const wanted = listed(tags);
    const args = { id: memory.id };
    if (title !== memory.title) args.title = title;
    if (joined(wanted) !== joined(memory.tags)) args.tags = wanted.length ? wanted : ["none"];
    if (metadata !== written(memory.metadata)) args.metadata = object(metadata);
    if (successor.trim() !== (memory.superseded_by ?? "")) args.superseded_by = successor.trim() || "none";
    if (Object.keys(args).length === 1) throw new Error("Nothing here differs from what is stored.");
    await call("update_memory", args);
    forgetLists();
    const changed = await onChanged();
    if (changed) {
      setTitle(changed.title);
      setTags(joined(changed.tags));
      setMetadata(written(changed.metadata));
      setSuccessor(changed.superseded_by ?? "");
    }
    return true;
  });
  const submit = (event) => (event.preventDefault(), change.busy || change.run());
  return html`<section aria-labelledby="labels"><h2 id="labels">Labels</h2><form onSubmit=${submit}>
    <label for="title">Title</label><input id="title" required value=${title} onInput=${(event) => setTitle(event.target.value)} />
    <label for="new-tags">Tags</label><input id="new-tags" value=${tags} onInput=${(event) => setTags(event.target.value)} />
    <label for="metadata">Metadata, as a JSON object</label>
    <textarea id="metadata" rows="2" class="code" value=${metadata} onInput=${(event) => setMetadata(event.target.value)}></textarea>
    <label for="successor">Id of the memory that replaces it</label>
    <input id="successor" value=${successor} onInput=${(event) => setSuccessor(event.target.value)} />
    <${Button} busy=${change.busy}>Change</>
    ${change.done && html`<p role="status">Changed.</p>`}<${Problem} error=${change.error} /></form></section>`;
}
