// State of the server for all pages: whether it can be reached, the caller, and the number of failed requests.
import { observable } from "./observable.js";
import { call } from "./mcp.js";

export const isReachable = observable(true);
// The namespace, scopes, name and expiry of the credential; null if unknown.
export const person = observable(null);
// Numbers of requests in the states `failed` and `dead_lettered`; null until they are known.
export const failures = observable(null);
// Numbers of requests in these two states that the person has already seen on the page Activity.
export const seen = observable({ failed: 0, dead_lettered: 0 });

// Load the data of the person from the server. If the server does not answer, throw an error and keep the earlier data.
export async function loadPerson(may) {
  person.set(may.has("who_am_i") ? await call("who_am_i") : null);
}

// Count the requests that failed, for the badge of Activity. Returns whether the count has changed.
export async function countFailures(may) {
  const before = needsLook(failures.get());
  if (may.has("list_requests")) {
    const { counts } = await call("list_requests", { limit: 1 });
    if (counts) setFailures(counts);
  }
  return needsLook(failures.get()) !== before;
}

// Store the server's counts of failed requests. `isSeen` is true if the page Activity shows the counts. When a count
// falls because failures were retried or deleted, lower the count of seen failures, too. Otherwise the badge would miss
// the next failure.
export function setFailures({ failed = 0, dead_lettered: given = 0 }, isSeen = false) {
  const before = isSeen ? { failed, dead_lettered: given } : seen.get();
  seen.set({ failed: Math.min(before.failed, failed), dead_lettered: Math.min(before.dead_lettered, given) });
  failures.set({ failed, dead_lettered: given });
}

// Number of failures that the person has not seen: the badge of Activity.
export const countUnseen = (counts, before) =>
  (counts ? Math.max(0, counts.failed - before.failed) + Math.max(0, counts.dead_lettered - before.dead_lettered) : 0);

export function forgetFailures() {
  failures.set(null);
  seen.set({ failed: 0, dead_lettered: 0 });
}

export const needsLook = (counts) => (counts ? counts.failed + counts.dead_lettered : 0);
