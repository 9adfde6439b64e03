// Delete memories after ten seconds, because the server has no undo. The memories are deleted even if the person opens
// another page of the console, but are kept if the tab is closed within the ten seconds. While the server deletes them,
// which takes minutes if it is unavailable, the browser asks before it closes the tab.
import { forgetLists } from "./address.js";
import { client } from "./mcp.js";
import { observable } from "./observable.js";
import { beginning, number } from "./text.js";
import { isToastShown, showToast } from "./toast.js";
import { askBeforeLeaving, forgetChanges } from "./unsaved.js";

const MOST_IDS = 100; // maximum ids of a call of delete_memory

// Ids of memories that were deleted or wait for their deletion. Lists leave these memories out.
export const deletedIds = observable(new Set());

// Hide a memory that somebody else has deleted.
export function hideDeleted(id) {
  deletedIds.set(new Set([...deletedIds.get(), id]));
  forgetChanges([id]);
}

const deleting = new Set(); // lists of ids that the server deletes now
askBeforeLeaving(() => deleting.size > 0);

const keep = (ids) => deletedIds.set(deletedIds.get().difference?.(new Set(ids)) ?? without(ids));
const without = (ids) => new Set([...deletedIds.get()].filter((id) => !ids.includes(id)));

// Text of the message that is shown while deletions wait.
export function deletionText(memories) {
  if (memories.length > 1) return `${memories.length} memories deleted. Closing the tab keeps them.`;
  const [title] = memories[0].title.match(/^.{0,40}(?=\s|$)/u) ?? [beginning(memories[0].title, 40)];
  const name = title.length < memories[0].title.length ? `${title}…` : title;
  return `“${name}” deleted. Closing the tab keeps it.`;
}

// Delete memories after ten seconds, if the person has not clicked on Undo. Each memory has `id` and `title`.
// A memory that was deleted or waits for its deletion is left out, because a second message would end the wait of the
// first one, and its Undo would have no effect.
export function deleteLater(memories, { onUndo = () => {} } = {}) {
  const others = memories.filter(({ id }) => !deletedIds.get().has(id));
  if (!others.length) return;
  const ids = others.map(({ id }) => id);
  let endWait = () => {};
  // `callTool` fails after a new log-in, so that nothing is deleted for another person.
  const callTool = client.retrying((reason) => {
    if (!reason) endWait();
    else if (!isToastShown()) endWait = showToast(`Not deleted yet: ${reason}`);
  });
  showToast(deletionText(others), {
    onAction: () => {
      keep(ids);
      onUndo();
    },
    onEnd: () => commit(ids, callTool),
  });
  deletedIds.set(new Set([...deletedIds.get(), ...ids]));
}

async function commit(ids, callTool) {
  deleting.add(ids);
  const { left, replaced, error } = await deleteAll(ids, callTool);
  deleting.delete(ids);
  forgetLists();
  forgetChanges(ids.filter((id) => !left.includes(id)));
  if (!error) return offerReplaced(ids, replaced, callTool);
  keep(left);
  const count = left.length < ids.length ? `${number(left.length)} of ${number(ids.length)} were not` : "Not";
  return showToast(`${count} deleted: ${error.message}`);
}

// If the deleted memories had replaced others, offer to make the replaced memories current again. Do nothing if the
// page already shows a message, because that message may have the Undo of another deletion.
function offerReplaced(ids, replaced, callTool) {
  if (!replaced.length || isToastShown()) return;
  const onAction = () => bringBack(replaced, callTool);
  const action = replaced.length === 1 ? "Bring it back" : "Bring them back";
  showToast(replacedText(ids.length, replaced.length), { action, onAction });
}

// The message about memories that the deleted memories had replaced, and that stay hidden.
export function replacedText(deleted, replaced) {
  const subject = deleted === 1 ? "it" : "they";
  if (replaced === 1) return `The memory that ${subject} replaced stays hidden.`;
  return `${number(replaced)} memories that ${subject} replaced stay hidden.`;
}

// Make replaced memories current again.
export async function bringBack(ids, callTool) {
  try {
    for (const id of ids) await callTool("update_memory", { id, superseded_by: "none" });
    forgetLists(...ids);
    showToast(ids.length === 1 ? "It is current again." : `${number(ids.length)} memories are current again.`);
  } catch (error) {
    showToast(`Not brought back: ${error.message}`);
  }
}

// Delete memories, a hundred with each call. A memory that somebody else has deleted in the meantime is not an error.
// The result has three fields:
//   left      the ids of the memories that were not deleted
//   replaced  the ids of memories that the deleted memories had replaced and that stay hidden
//   error     the error that ended the work, if there was one
export async function deleteAll(ids, callTool) {
  const left = [...ids];
  const replaced = new Set();
  const result = (error, rest) => ({ left: rest, replaced: [...replaced].filter((id) => !ids.includes(id)), error });
  try {
    while (left.length) {
      const { still_superseded: hidden } = await remove(left.slice(0, MOST_IDS), callTool);
      for (const id of hidden ?? []) replaced.add(id);
      left.splice(0, MOST_IDS);
    }
    return result(null, left);
  } catch (error) {
    return error.code === "not_found" ? result(null, []) : result(error, left);
  }
}

const remove = (ids, callTool) =>
  (ids.length === 1 ? callTool("delete_memory", { id: ids[0] }) : callTool("delete_memory", { ids }));
