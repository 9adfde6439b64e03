// Refresh a page while it is visible. The pauses grow while nothing changes. After an error, the server can ask for a
// longer pause.
import { useEffect, useRef } from "./vendor/htm-preact.js";

const FIRST_SECONDS = 5;
const MOST_SECONDS = 60;
const FACTOR = 1.5;
const MOST_ITEMS = 200; // a refresh of a long list would otherwise reach the rate limit

// The pause before the next request, in seconds.
export function nextPause(pause, { hasChanged = false, seconds = 0 } = {}) {
  return hasChanged ? FIRST_SECONDS : Math.min(Math.max(pause * FACTOR, seconds), MOST_SECONDS);
}

// Call `work` again and again while the page is visible, and never twice at the same time. If `work` returns true,
// something has changed, and the next pause is short. The result of `poll` is a function that ends the calls.
export function poll(work, first = FIRST_SECONDS) {
  const state = { timer: null, pause: first, isRunning: false, isLeft: false };
  const schedule = () => { state.timer = setTimeout(run, state.pause * 1000); };
  const run = async () => {
    if (document.hidden || state.isRunning) return; // `onVisible` or the running call continues
    state.isRunning = true;
    try {
      state.pause = nextPause(state.pause, { hasChanged: Boolean(await work()) });
    } catch (error) {
      state.pause = nextPause(state.pause, { seconds: error.seconds ?? 0 });
    }
    state.isRunning = false;
    if (!state.isLeft) schedule();
  };
  const onVisible = () => {
    clearTimeout(state.timer);
    if (document.hidden) return;
    state.pause = first;
    run();
  };
  schedule();
  document.addEventListener("visibilitychange", onVisible);
  return () => {
    state.isLeft = true;
    clearTimeout(state.timer);
    document.removeEventListener("visibilitychange", onVisible);
  };
}

export function usePoll(work, first) {
  const latest = useRef(work);
  latest.current = work;
  useEffect(() => poll(() => latest.current(), first), []);
}

// Load a list again, page by page, until there are `count` items, but at most MOST_ITEMS.
export async function loadAgain(load, count) {
  const first = await load();
  const items = [...first.items];
  let { next } = first;
  while (next && items.length < Math.min(count, MOST_ITEMS)) {
    const page = await load(next);
    items.push(...page.items);
    ({ next } = page);
  }
  return { ...first, items, next };
}
