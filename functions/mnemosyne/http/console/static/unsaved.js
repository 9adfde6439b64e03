// Ask before the browser leaves the console while the page has something that is not stored, such as a typed text.

// Functions that return whether something is not stored.
const checks = [];

export const askBeforeLeaving = (isUnsaved) => checks.push(isUnsaved);

// Changes of memories that are not saved, by the id of the memory. They are kept while another page is open.
const maps = [];

export function unsavedChanges() {
  const changes = new Map();
  maps.push(changes);
  askBeforeLeaving(() => changes.size > 0);
  return changes;
}

// Forget the changes of deleted memories. Without ids, forget all changes, before another person logs in.
export function forgetChanges(ids) {
  for (const changes of maps) for (const id of ids ?? [...changes.keys()]) changes.delete(id);
}

globalThis.addEventListener?.("beforeunload", (event) => {
  if (checks.some((isUnsaved) => isUnsaved())) event.preventDefault();
});
