// Components that several pages use.
import { html, useEffect, useLayoutEffect, useRef, useState } from "./vendor/htm-preact.js";
import { saveList, savedList } from "./address.js";
import { useCutLine } from "./cut_lines.js";
import { dayAndTime, fullDate } from "./dates.js";
import { isReachable } from "./health.js";
import { Icon } from "./icons.js";
import { isComposed } from "./keys.js";
import { isRetryable, isUnreachable } from "./mcp.js";
import { useValue } from "./observable.js";
import { codeSegments } from "./text.js";
import { showToast } from "./toast.js";

export { Icon };

export const Time = ({ at, name = dayAndTime, ...rest }) =>
  html`<time datetime=${at} title=${fullDate(at)} ...${rest}>${name(at)}</time>`;

const headings = { hadFocus: false };

// Heading of a page. Its text is also the title of the window. After a click on a link to the page, the heading gets
// the focus. A loading page has another heading; if it has the focus, the final heading takes over the focus.
export function Heading({ children, ...rest }) {
  const heading = useRef(null);
  useLayoutEffect(() => {
    const { current } = heading;
    if (headings.hadFocus) current.focus({ preventScroll: true });
    headings.hadFocus = false;
    return () => { headings.hadFocus = document.activeElement === current; };
  }, []);
  useEffect(() => { document.title = `${heading.current.textContent} · Mnemosyne`; });
  return html`<h1 tabindex="-1" ref=${heading} ...${rest}>${children}</h1>`;
}

// A button that keeps the focus while its action runs, unlike a disabled one, and ignores clicks in the meantime.
export function Button({ busy = false, onClick, icon, children, class: kind = "btn", type = "button", ...rest }) {
  const press = (event) => (busy ? event.preventDefault() : onClick?.(event));
  return html`<button class=${kind} type=${type} ...${rest} aria-disabled=${busy ? "true" : null} onClick=${press}>
    ${icon && html`<${Icon} name=${icon} small />`}${children}</button>`;
}

export const IconButton = ({ name, label, size = "small", ...rest }) =>
  html`<${Button} class=${`btn quiet icon ${size}`} icon=${name} aria-label=${label} title=${label} ...${rest} />`;

const NOTE_ICONS = { info: "info", warn: "alert", bad: "alert", good: "check", "": "info" };

// A note in a box, with at most one button. The role `alert`, which interrupts a screen reader, is only for errors and
// for an expired log-in.
export const Note = ({ kind = "", icon = NOTE_ICONS[kind], role = null, children, button = null }) =>
  html`<div class=${`note ${kind}`} role=${role}><${Icon} name=${icon} /><div class="grow">${children}</div>
    ${button}</div>`;

export const Problem = ({ error }) =>
  (error ? html`<${Note} kind="bad" role="alert">${error.message}</>` : null);

const RETRY_MS = 5000;

// Show the error of a call that should have loaded a page. If the call may succeed later, a button repeats the call. If
// the server could not be reached and now answers other calls, the call is repeated without a click. With `isPart`, the
// call loads only a part of the page, so nothing is shown while the page has a note about an outage.
export function LoadProblem({ error, onRetry, isPart = false }) {
  const isThere = useValue(isReachable);
  const isTemporary = Boolean(error) && isRetryable(error);
  useEffect(() => {
    if (!isTemporary || !isThere || !isUnreachable(error)) return undefined;
    const timer = setTimeout(onRetry, RETRY_MS);
    return () => clearTimeout(timer);
  }, [error, isThere]);
  if (isPart && !isThere) return null;
  if (!isTemporary) return html`<${Problem} error=${error} />`;
  const button = html`<${Button} class="btn small" icon="retry" onClick=${onRetry}>Try again</>`;
  return html`<${Note} kind="bad" role="alert" button=${button}>${error.message}</>`;
}

const WAIT_MS = 300;

// Grey rows in place of a list that is loading. They appear only if loading takes more than 0.3 s.
export function Loading({ rows = 6 }) {
  const [isLate, setIsLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setIsLate(true), WAIT_MS);
    return () => clearTimeout(timer);
  }, []);
  return html`<div role="status" class="loading">
    ${isLate && html`<span class="sr">Loading …</span><div class="rows" aria-hidden="true">
      ${Array.from({ length: rows }, () => html`<div class="row ghost"><span
        class="bone"></span></div>`)}</div>`}</div>`;
}

// Stored text on one line that ends with a whole word. Text in backticks is marked as code.
export function Line({ title, text, badge = null, class: kind = "" }) {
  const line = useCutLine();
  return html`<span class=${`line ${kind}`} ref=${line}><span class="fit" dir="auto" lang="">
    ${title && html`<b>${title}</b>${" "}`}
    ${text && html`<span class=${title ? "rest" : ""}>${withCode(text)}</span>`}
    ${badge && html`<span class="badge">${badge}</span>`}</span></span>`;
}

// A text with its matched words in `<mark>` elements.
export const Marked = ({ segments }) =>
  segments.map(({ text, isMark }) => (isMark ? html`<mark>${text}</mark>` : text));

const withCode = (text) =>
  codeSegments(text).map(({ text: part, isCode }) => (isCode ? html`<code>${part}</code>` : part));

const STATES = {
  queued: ["waiting", "clock", "Waiting"],
  stored: ["stored", "check", "Stored"],
  duplicate: ["known", "same", "Already known"],
  deleted: ["known", "trash", "Deleted"],
  failed: ["failed", "alert", "Failed"],
  dead_lettered: ["failed", "alert", "Given up"],
};
export const stateName = (state) => STATES[state]?.[2] ?? state;

export function State({ state, children }) {
  const [kind, icon, name] = STATES[state] ?? ["known", "info", state];
  return html`<span class=${`state ${kind}`}><${Icon} name=${icon} />${children ?? name}</span>`;
}

// A menu that closes after a choice, at Escape, at a click elsewhere and when the focus leaves it.
export function Menu({ label, summary, kind = "btn icon", up = false, current = false, children }) {
  const menu = useRef(null);
  const close = () => {
    // A closed menu loses the focus. A page or a dialog that a choice opens takes the focus from the summary later.
    if (menu.current.contains(document.activeElement)) menu.current.querySelector("summary").focus();
    menu.current.open = false;
  };
  useEffect(() => {
    const onClick = ({ target }) => {
      if (!menu.current?.contains(target) || target.closest(".menu-list :is(a, button)")) close();
    };
    document.addEventListener("click", onClick);
    return () => document.removeEventListener("click", onClick);
  }, []);
  const onKeyDown = (event) => {
    if (event.key !== "Escape" || !menu.current.open) return;
    close();
    event.preventDefault();
  };
  const onFocusOut = ({ relatedTarget }) => {
    if (relatedTarget && !menu.current.contains(relatedTarget)) menu.current.open = false;
  };
  return html`<details class=${up ? "menu up" : "menu"} ref=${menu} onKeyDown=${onKeyDown}
    onfocusout=${onFocusOut}>
    <summary class=${kind} aria-label=${label} aria-current=${current ? "page" : null}>${summary}</summary>
    <div class="menu-list">${children}</div></details>`;
}

// A modal dialog. The browser keeps the focus within the dialog, and returns the focus when the dialog closes. `action`
// is the button that starts the change `change` (see `useChange`). The dialog closes when the change is done. If the
// person closes the dialog before, the change continues.
export function Dialog({ title, onClose, children, action = null, change = null }) {
  const dialog = useRef(null);
  useEffect(() => {
    const { current } = dialog;
    current.showModal();
    return () => current.close();
  }, []);
  useEffect(() => { if (change?.done) onClose(); }, [change?.done]);
  // A click outside of the dialog closes it. A press alone does not, so that a person can move the pointer back. A
  // press or release within the dialog does not close it either, for example while the person selects a text.
  const isOutside = useRef(false);
  const onPointerDown = ({ target }) => { isOutside.current = target === dialog.current; };
  const onPointerUp = ({ target }) => { isOutside.current &&= target === dialog.current; };
  const onClick = ({ target }) => isOutside.current && target === dialog.current && onClose();
  // In an input method, for example for Japanese, Escape ends the composition of a word. It must not also close the
  // dialog.
  const onKeyDown = (event) => event.key === "Escape" && isComposed(event) && event.preventDefault();
  return html`<dialog ref=${dialog} aria-labelledby="dialog-name" onCancel=${onClose} onKeyDown=${onKeyDown}
    onPointerDown=${onPointerDown} onPointerUp=${onPointerUp} onClick=${onClick}>
    <div class="dialog-head"><h2 id="dialog-name">${title}</h2>
      <${IconButton} name="x" label="Close" size="" onClick=${onClose} /></div>
    <div class="dialog-body">${children}</div>
    ${action && html`<div class="dialog-foot">
      <${Button} onClick=${onClose}>${change?.busy ? "Close" : "Cancel"}</>${action}</div>`}</dialog>`;
}

// Let the browser refuse a text of spaces in a required field, as it refuses an empty text.
export const useRequired = (field, text) =>
  useLayoutEffect(() => field.current.setCustomValidity(text && !text.trim() ? "Write a text." : ""), [text]);

// Run a function from a component, and keep the state of the run. If a run begins before the last one has ended, the
// earlier result is ignored. `onLost` is called with an error that the component cannot show, because a later run has
// begun or the component is gone.
//   run    runs the function
//   busy   whether the function is running
//   error  the error of the last run, or null
//   done   the result of the last successful run, or null after an error
//   reset  forgets the result and the error
export function useAction(work, onLost = () => {}) {
  const [state, setState] = useState({ busy: false, error: null, done: null });
  const latest = useRef(0);
  const isThere = useRef(true);
  useEffect(() => () => { isThere.current = false; }, []);
  const run = async (...args) => {
    latest.current += 1;
    const number = latest.current;
    setState((before) => ({ busy: true, error: null, done: before.done }));
    let next;
    try {
      next = { busy: false, error: null, done: await work(...args) };
    } catch (error) {
      next = { busy: false, error, done: null };
    }
    const isLatest = number === latest.current;
    if (next.error && !(isLatest && isThere.current)) onLost(next.error);
    if (!isLatest) return undefined;
    setState(next);
    return next.done;
  };
  return { ...state, run, reset: () => setState({ busy: false, error: null, done: null }) };
}

// Run a function that changes something, as `useAction` does. No error is lost: an error that the component cannot show
// is shown at the foot of the page, after the name of the change.
export const useChange = (name, work) => useAction(work, ({ message }) => showToast(`${name}: ${message}`));

// Ask for the answer to an input, `waitMs` after the input was changed last. The result has `done`, the answer, and
// `error`. Both are null until the current input is answered, so that no answer to an earlier input is shown.
export function useAnswer(input, ask, waitMs) {
  const [answer, setAnswer] = useState({ input: null, done: null, error: null });
  useEffect(() => {
    let isCurrent = true;
    const show = (outcome) => isCurrent && setAnswer({ input, done: null, error: null, ...outcome });
    const timer = setTimeout(() => ask().then((done) => show({ done }), (error) => show({ error })), waitMs);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [input]);
  return answer.input === input ? answer : { done: null, error: null };
}

// A list that is loaded page by page. `name` is unique on the page of the console. `loadPage` takes a cursor, and
// returns `items` and the cursor `next`.
//   start   loads the first page, or restores the list if the person has gone back
//   more    loads the next page
//   reload  loads the first page again
//   change  replaces the items by the result of a function of the items; with `isEnd`, the list has no further page
// A reload or change is ignored if the address has changed since it began.
export function usePages(name, loadPage) {
  const latest = useRef({ items: [], next: undefined, key: "" }); // `next` is "" after the last page
  const [list, setList] = useState(latest.current);
  const action = useAction(loadPage);
  // An answer to a page that is gone is not saved, because another person may have logged in.
  useEffect(() => () => { latest.current = { ...latest.current, key: "" }; }, []);
  const show = (next) => {
    latest.current = next;
    setList(next);
  };
  const load = async (cursor) => {
    const key = `${location.href} ${name}`;
    const isOther = !cursor && latest.current.key !== key;
    if (!cursor) show({ ...latest.current, next: undefined, key });
    const page = await action.run(cursor);
    if (latest.current.key !== key) return;
    // The items of another address, such as requests in another state, may stay only until the answer arrives.
    if (!page) return void (isOther && show({ ...latest.current, items: [] }));
    const before = cursor ? latest.current.items : [];
    show({ ...page, items: [...before, ...page.items], next: page.next ?? "", key });
    saveList(key, latest.current);
  };
  const start = () => {
    const saved = savedList(`${location.href} ${name}`);
    return saved ? show(saved) : load();
  };
  const change = (update, isEnd = false) => {
    if (latest.current.key !== list.key) return;
    show({ ...latest.current, items: update(latest.current.items), ...(isEnd && { next: "" }) });
    saveList(list.key, latest.current);
  };
  const reload = async () => { if (list.key === `${location.href} ${name}`) await load(); };
  const isEmpty = list.next === "" && !list.items.length;
  const { error, busy } = action;
  const isLoaded = list.next !== undefined;
  const isLoading = !isLoaded && !list.items.length && !error; // also before `start`
  return { ...list, isEmpty, isLoaded, isLoading, error, busy, start, more: load, reload, change };
}

export const More = ({ pages, children = "Load more" }) => html`<div class="list-end">
  <${LoadProblem} error=${pages.error} onRetry=${() => pages.more(pages.next)} />
  ${pages.next && !(pages.error && isRetryable(pages.error)) && html`<${Button} busy=${pages.busy}
    onClick=${() => pages.more(pages.next)}>${children}</>`}</div>`;

// Let the browser save a file whose content the page already has. No request is sent.
export function save(name, pieces, type = "application/x-ndjson") {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(pieces, { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
