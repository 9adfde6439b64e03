// Ask before the browser leaves the console while the page has something that is not stored, such as a typed text.

// Functions that return whether something is not stored.
const checks = [];

export const askBeforeLeaving = (isUnsaved) => checks.push(isUnsaved);

globalThis.addEventListener?.("beforeunload", (event) => {
  if (checks.some((isUnsaved) => isUnsaved())) event.preventDefault();
});
