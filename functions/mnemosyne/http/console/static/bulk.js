// Actions on the picked memories: tag, export, delete.
import { html, useState } from "./vendor/htm-preact.js";
import { forgetLists } from "./address.js";
import { Button, Dialog, Icon, Problem, save, useChange } from "./components.js";
import { call, client } from "./mcp.js";
import { TagField } from "./tag_field.js";
import { memories as countMemories, number } from "./text.js";
import { showToast } from "./toast.js";

const MOST_IDS = 100; // maximum ids of a call

// Split a list into parts of at most 100.
export function partsOf(ids) {
  const parts = [];
  for (let start = 0; start < ids.length; start += MOST_IDS) parts.push(ids.slice(start, start + MOST_IDS));
  return parts;
}

// A sentence about memories that somebody else has deleted in the meantime.
const deletedText = (count) => (count ? ` ${countMemories(count)} had been deleted.` : "");

async function exportMemories(ids) {
  try {
    const parts = [];
    for (const part of partsOf(ids)) parts.push(await call("export_memories", { ids: part }));
    save("memories.jsonl", parts.map(({ lines }) => lines));
    const total = parts.reduce((sum, { memories }) => sum + memories, 0);
    showToast(`${countMemories(total)} exported.${deletedText(ids.length - total)}`);
  } catch (error) {
    showToast(`Not exported: ${error.message}`);
  }
}

// The count as one text, so that a screen reader says the word, too, when the number changes.
export const pickedText = (count) => `${number(count)} picked`;

// The bar at the foot of the page: the number of picked items, actions, and a button that clears the selection.
export const Bar = ({ name, count, onClear, children }) => html`<div class="bulk" role="group" aria-label=${name}>
  <span class="count">${pickedText(count)}</span>${children}
  <button onClick=${onClear} aria-label="Pick none"><${Icon} name="x" small /></button></div>`;

export const BarAction = ({ icon, name, onClick }) =>
  html`<button onClick=${onClick}><${Icon} name=${icon} small />${name}</button>`;

export function BulkBar({ memories, may, onTag, onDelete, onClear }) {
  const ids = memories.map(({ id }) => id);
  const action = (tool, icon, name, onClick) => may.has(tool) && html`<${BarAction} ...${{ icon, name, onClick }} />`;
  return html`<${Bar} name="Actions on the picked memories" count=${memories.length} onClear=${onClear}>
    ${action("update_memory", "tag", "Tag", onTag)}
    ${action("export_memories", "download", "Export", () => exportMemories(ids))}
    ${action("delete_memory", "trash", "Delete", onDelete)}</>`;
}

// Tags that at least one of the memories has, most frequent first.
export function tagsOf(memories) {
  const counts = new Map();
  for (const tag of memories.flatMap(({ tags = [] }) => tags)) counts.set(tag, (counts.get(tag) ?? 0) + 1);
  return [...counts.keys()].sort((one, other) => counts.get(other) - counts.get(one));
}

// `onTagged` is called with the ids of changed memories, the added tags and the removed tags; `onDone` when all the
// memories are changed.
export function TagDialog({ memories, may, onClose, onTagged, onDone }) {
  const [additions, setAdditions] = useState([]);
  const [removals, setRemovals] = useState([]);
  const [count, setCount] = useState(0);
  const [wait, setWait] = useState(""); // the reason why the change waits for the server
  const present = tagsOf(memories);
  const tagging = useChange("Tags", async () => {
    const tags = {
      ...(additions.length && { add_tags: additions }), ...(removals.length && { remove_tags: removals }),
    };
    if (!Object.keys(tags).length) throw new Error("Add a tag, or choose one to remove.");
    const callTool = client.retrying(setWait);
    const done = [];
    let missing = 0;
    setCount(0);
    try {
      for (const ids of partsOf(memories.map(({ id }) => id))) {
        missing += (await callTool("update_memory", { ids, ...tags })).missing.length;
        done.push(...ids);
        setCount(done.length - missing);
      }
    } finally {
      setWait("");
      forgetLists(...done);
      if (done.length) onTagged(done, additions, removals);
    }
    onDone();
    showToast(`Tags of ${countMemories(done.length - missing)} changed.${deletedText(missing)}`);
    return true;
  });
  const toggle = (tag) =>
    setRemovals(removals.includes(tag) ? removals.filter((other) => other !== tag) : [...removals, tag]);
  const button = html`<${Button} class="btn main" busy=${tagging.busy} onClick=${tagging.run}>Save</>`;
  return html`<${Dialog} title=${`Tag ${countMemories(memories.length)}`} onClose=${onClose} action=${button}
    change=${tagging}>
    <div class="stack">
      <div class="field"><label for="bulk-tags">Add tags</label>
        <${TagField} id="bulk-tags" tags=${additions} onChange=${setAdditions} may=${may} autofocus /></div>
      ${present.length > 0 && html`<fieldset class="field plain"><legend class="label">Remove tags</legend>
        ${present.map((tag) => html`<label class="check"><input type="checkbox" checked=${removals.includes(tag)}
          onChange=${() => toggle(tag)} /> ${tag}</label>`)}</fieldset>`}
      ${(tagging.busy || tagging.error) && count > 0 && html`<p class="help" role="status">
        Tags of ${countMemories(count)} changed${tagging.busy ? " …" : "."}</p>`}
      ${wait && html`<p class="help" role="status">Waiting: ${wait}</p>`}
      <${Problem} error=${tagging.error} />
    </div></>`;
}
