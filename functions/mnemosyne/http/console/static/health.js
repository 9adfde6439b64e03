// State of the server for all pages: whether it can be reached, the caller, and the number of failed requests.
import { observable } from "./observable.js";
import { call } from "./mcp.js";

export const isReachable = observable(true);
// The namespace, scopes, name and expiry of the credential; null if they are unknown.
export const person = observable(null);
// Numbers of requests in the states `failed` and `dead_lettered`; null until they are known.
export const failures = observable(null);

export async function loadPerson(may) {
  person.set(may.has("who_am_i") ? await call("who_am_i").catch(() => null) : null);
}

// Count the requests that failed, for the badge of Activity. Returns whether the count has changed.
export async function countFailures(may) {
  const before = needsLook(failures.get());
  if (may.has("list_requests")) {
    const { counts } = await call("list_requests", { limit: 1 });
    if (counts) failures.set({ failed: counts.failed ?? 0, dead_lettered: counts.dead_lettered ?? 0 });
  }
  return needsLook(failures.get()) !== before;
}

export const needsLook = (counts) => (counts ? counts.failed + counts.dead_lettered : 0);
