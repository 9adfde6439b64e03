// Actions on the picked memories: tag, export, delete.
import { html, useState } from "./vendor/htm-preact.js";
import { forgetLists } from "./address.js";
import { Button, Dialog, Icon, Problem, save, useChange } from "./components.js";
import { call } from "./mcp.js";
import { TagField } from "./tag_field.js";
import { memories as countMemories } from "./text.js";
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
    const exported = parts.reduce((sum, { memories }) => sum + memories, 0);
    showToast(`${countMemories(exported)} exported.${deletedText(ids.length - exported)}`);
  } catch (error) {
    showToast(`Not exported: ${error.message}`);
  }
}

// The bar at the foot of the page: the number of picked items, actions, and a button that clears the selection.
export const Bar = ({ name, count, onClear, children }) => html`<div class="bulk" role="toolbar" aria-label=${name}>
  <span class="count">${count} picked</span>${children}
  <button onClick=${onClear} aria-label="Pick none"><${Icon} name="x" small /></button></div>`;

export const BarAction = ({ icon, name, onClick, kind = "" }) =>
  html`<button class=${kind} onClick=${onClick}><${Icon} name=${icon} small />${name}</button>`;

export function BulkBar({ memories, may, onTag, onDelete, onClear }) {
  const ids = memories.map(({ id }) => id);
  const action = (tool, icon, name, onClick, kind = "") => may.has(tool) && html`
    <${BarAction} ...${{ icon, name, onClick, kind }} />`;
  return html`<${Bar} name="Actions on the picked memories" count=${memories.length} onClear=${onClear}>
    ${action("update_memory", "tag", "Tag", onTag)}
    ${action("export_memories", "download", "Export", () => exportMemories(ids), "wide")}
    ${action("delete_memory", "trash", "Delete", onDelete)}</>`;
}

// Tags that at least one of the memories has, most frequent first.
export function tagsOf(memories) {
  const counts = new Map();
  for (const tag of memories.flatMap(({ tags = [] }) => tags)) counts.set(tag, (counts.get(tag) ?? 0) + 1);
  return [...counts.keys()].sort((one, other) => counts.get(other) - counts.get(one));
}

export function TagDialog({ memories, may, onClose, onTagged }) {
  const [added, setAdded] = useState([]);
  const [removed, setRemoved] = useState([]);
  const present = tagsOf(memories);
  const ids = memories.map(({ id }) => id);
  const tagging = useChange("Tags", async () => {
    const tags = { ...(added.length && { add_tags: added }), ...(removed.length && { remove_tags: removed }) };
    if (!Object.keys(tags).length) throw new Error("Add a tag, or choose one to remove.");
    let missing = 0;
    for (const part of partsOf(ids)) missing += (await call("update_memory", { ids: part, ...tags })).missing.length;
    forgetLists(...ids);
    onTagged(ids, added, removed);
    showToast(`Tags of ${countMemories(ids.length - missing)} changed.${deletedText(missing)}`);
    return true;
  });
  const toggle = (tag) =>
    setRemoved(removed.includes(tag) ? removed.filter((other) => other !== tag) : [...removed, tag]);
  const button = html`<${Button} class="btn main" busy=${tagging.busy} onClick=${tagging.run}>Save</>`;
  return html`<${Dialog} title=${`Tag ${countMemories(memories.length)}`} onClose=${onClose} action=${button}
    change=${tagging}>
    <div class="stack">
      <div class="field"><label for="bulk-tags">Add tags</label>
        <${TagField} id="bulk-tags" tags=${added} onChange=${setAdded} may=${may} /></div>
      ${present.length > 0 && html`<fieldset class="field plain"><legend class="label">Remove tags</legend>
        ${present.map((tag) => html`<label class="check"><input type="checkbox" checked=${removed.includes(tag)}
          onChange=${() => toggle(tag)} /> ${tag}</label>`)}</fieldset>`}
      <${Problem} error=${tagging.error} />
    </div></>`;
}
