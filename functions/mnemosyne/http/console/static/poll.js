// Refresh a page while it is visible: less often while nothing changes, and as the server asks after an error.
import { useEffect, useRef } from "./vendor/htm-preact.js";

const FIRST_SECONDS = 5;
const MOST_SECONDS = 60;
const FACTOR = 1.5;

// The pause before the next request, in seconds.
export function nextPause(pause, { hasChanged = false, seconds = 0 } = {}) {
  return hasChanged ? FIRST_SECONDS : Math.min(Math.max(pause * FACTOR, seconds), MOST_SECONDS);
}

// Call `work` again and again. It returns whether something has changed.
export function usePoll(work, first = FIRST_SECONDS) {
  const latest = useRef(work);
  latest.current = work;
  useEffect(() => {
    const state = { timer: null, pause: first, isLeft: false };
    const schedule = () => { state.timer = setTimeout(run, state.pause * 1000); };
    const run = async () => {
      if (document.hidden) return; // `onVisible` continues
      try {
        state.pause = nextPause(state.pause, { hasChanged: Boolean(await latest.current()) });
      } catch (error) {
        state.pause = nextPause(state.pause, { seconds: error.seconds ?? 0 });
      }
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
  }, []);
}
