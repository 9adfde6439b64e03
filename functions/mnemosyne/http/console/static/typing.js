// Search while a person types: by words only, which calls no embedding service.
import { useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { call } from "./mcp.js";
import { filtersOf } from "./search_form.js";

const PAUSE_MS = 30; // pause after a key, so that several quick keys make one request
const LONG_PAUSE_MS = 600; // pause after many requests: a request is sent only when typing stops
const LEAST = 2; // minimum characters
const LIMIT = 20;
const MINUTE_MS = 60_000;
const MANY_IN_A_MINUTE = 100; // searches; each costs 2 of the 600 units that a caller may use in a minute
const OFTEN = "You have searched often in this minute. Press Enter to search.";
const REFUSED_SECONDS = 5; // pause after a refusal without Retry-After

// Milliseconds to wait before the next request. `starts` has the times of earlier requests, and `refusedUntil` the time
// until which the server refuses requests.
export function pauseAfter(starts, refusedUntil, now) {
  const recent = starts.filter((start) => start > now - MINUTE_MS);
  return Math.max(recent.length < MANY_IN_A_MINUTE ? PAUSE_MS : LONG_PAUSE_MS, refusedUntil - now);
}

// Arguments of memory_search for a query that is still being typed. The result is null if the query is too short. In
// the mode `exact`, the result is also null, because this mode searches only after Enter.
export function typingArguments(form, input) {
  if (input.trim().length < LEAST || form.mode === "exact") return null;
  const args = { query: input.trimStart(), typing: true, limit: LIMIT, matches: true, ...filtersOf(form) };
  return form.old ? { ...args, include_superseded: true } : args;
}

// Whether an answer is to the query and the filters of a form.
export const isAnswerTo = (form, { query, filters }) =>
  query.trim() === form.query && filters === JSON.stringify(filtersOf(form));

// The state of the rate limit: the start times of the requests of the last minute, and the time until which the server
// refuses requests.
const budget = { starts: [], refusedUntil: 0 };

async function search(args, signal) {
  const now = performance.now();
  budget.starts = [...budget.starts.filter((start) => start > now - MINUTE_MS), now];
  try {
    return await call("memory_search", args, signal);
  } catch (error) {
    if (error.status === 429) {
      budget.refusedUntil = performance.now() + 1000 * (error.seconds || REFUSED_SECONDS);
    }
    throw error;
  }
}

// Search for the typed text. `answer` has `query`, `filters` and `memories`, or is null. When the text changes, the
// running request is aborted. `problem` says why there is no answer, or is empty.
export function useTyping(form, input) {
  const [answer, setAnswer] = useState(null);
  const [problem, setProblem] = useState("");
  const latest = useRef(0);
  useEffect(() => {
    latest.current += 1;
    const number = latest.current;
    const args = input === null || input.trim() === form.query ? null : typingArguments(form, input);
    if (!args) {
      if (input !== null) setAnswer(null);
      return setProblem("");
    }
    const leave = new AbortController();
    const show = (next) => number === latest.current && setAnswer(next);
    const timer = setTimeout(async () => {
      try {
        show({ ...(await search(args, leave.signal)), query: input, filters: JSON.stringify(filtersOf(form)) });
        setProblem("");
      } catch (error) {
        if (leave.signal.aborted) return;
        show(null);
        const reason = `Press Enter to search. The search for words failed: ${error.message}`;
        setProblem(error.status === 429 ? OFTEN : reason);
      }
    }, pauseAfter(budget.starts, budget.refusedUntil, performance.now()));
    return () => {
      clearTimeout(timer);
      leave.abort();
    };
  }, [input]);
  return { answer, problem };
}
