// Deletions wait for ten seconds, because the server has no undo. The queue survives navigation within the console;
// closing the tab keeps the memories.
import { forgetLists } from "./address.js";
import { client } from "./mcp.js";
import { observable } from "./observable.js";
import { beginning, number } from "./text.js";
import { isToastShown, showToast } from "./toast.js";

const MOST_IDS = 100; // maximum ids of a call of delete_memory

// Ids of memories that wait for their deletion or were deleted: lists leave them out.
export const deletedIds = observable(new Set());

const keep = (ids) => deletedIds.set(deletedIds.get().difference?.(new Set(ids)) ?? without(ids));
const without = (ids) => new Set([...deletedIds.get()].filter((id) => !ids.includes(id)));

// The message of a deletion.
export function deletionText(memories) {
  if (memories.length > 1) return `${memories.length} memories deleted. Closing the tab keeps them.`;
  const [title] = memories[0].title.match(/^.{0,40}(?=\s|$)/u) ?? [beginning(memories[0].title, 40)];
  const name = title.length < memories[0].title.length ? `${title}…` : title;
  return `“${name}” deleted. Closing the tab keeps it.`;
}

// Delete memories after ten seconds, unless the person undoes it. Each memory has `id` and `title`.
export function deleteLater(memories, { onUndo = () => {} } = {}) {
  const ids = memories.map(({ id }) => id);
  const callTool = client.retrying(); // fails after another person has logged in
  showToast(deletionText(memories), {
    onAction: () => {
      keep(ids);
      onUndo();
    },
    onEnd: () => commit(ids, callTool),
  });
  deletedIds.set(new Set([...deletedIds.get(), ...ids]));
}

async function commit(ids, callTool) {
  let replaced = [];
  const { left, error } = await deleteAll(ids, async (...args) => {
    ({ still_superseded: replaced = [] } = await callTool(...args));
  });
  forgetLists();
  if (!error) return offerReplaced(replaced, callTool);
  keep(left);
  const count = left.length < ids.length ? `${number(left.length)} of ${number(ids.length)} were not` : "Not";
  return showToast(`${count} deleted: ${error.message}`);
}

// Offer to make the memories current again that the deleted memory had replaced. If the page shows a message, do
// nothing: the message may be the Undo of another deletion, and must not be replaced.
function offerReplaced(ids, callTool) {
  if (!ids.length || isToastShown()) return;
  const onAction = () => bringBack(ids, callTool);
  showToast("The memory that it replaced stays hidden.", { action: "Bring it back", onAction });
}

// Make replaced memories current again.
export async function bringBack(ids, callTool) {
  try {
    for (const id of ids) await callTool("update_memory", { id, superseded_by: "none" });
    forgetLists();
    showToast("It is current again.");
  } catch (error) {
    showToast(`Not brought back: ${error.message}`);
  }
}

// Delete memories, a hundred with each call. Returns the ids that are left, and the error that ended the work. A memory
// that somebody else has deleted meanwhile is no error.
export async function deleteAll(ids, callTool) {
  const left = [...ids];
  try {
    while (left.length) {
      await remove(left.slice(0, MOST_IDS), callTool);
      left.splice(0, MOST_IDS);
    }
    return { left, error: null };
  } catch (error) {
    return error.code === "not_found" ? { left: [], error: null } : { left, error };
  }
}

const remove = (ids, callTool) =>
  (ids.length === 1 ? callTool("delete_memory", { id: ids[0] }) : callTool("delete_memory", { ids }));
