// Components that several pages use.
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { saveList, savedList } from "./address.js";
import { tagAddress } from "./tags.js";
import { formatTime } from "./time.js";

export const Time = ({ at }) => html`<time datetime=${at}>${formatTime(at)}</time>`;

// Heading of a page, which is also the title of the window. Links move the focus here.
export function Heading({ children }) {
  const heading = useRef(null);
  useEffect(() => { document.title = `${heading.current.textContent} · Mnemosyne`; });
  return html`<h1 tabindex="-1" ref=${heading}>${children}</h1>`;
}

// A button that keeps the focus while its action runs, unlike a disabled one, and ignores clicks in the meantime.
export function Button({ busy = false, onClick, children, ...rest }) {
  const press = (event) => (busy ? event.preventDefault() : onClick?.(event));
  return html`<button ...${rest} aria-disabled=${busy ? "true" : null} onClick=${press}>${children}</button>`;
}

export const Tags = ({ tags }) => html`<ul class="tags" aria-label="Tags">${tags.map(
  (tag) => html`<li><a href=${tagAddress(tag)}>${tag}</a></li>`,
)}</ul>`;

export const Problem = ({ error }) => (error ? html`<p class="problem" role="alert">${error.message}</p>` : null);

export const Loading = () => html`<p class="note" role="status">Loading …</p>`;

// Confidence of a search result in words.
export const matchLabel = (confidence) => `${confidence} match`;

// An entry of a list. Title, text and tags may be hostile: they are shown as text only.
export function Entry({ memory, text, children }) {
  return html`<li class="entry">
    <h2><a href=${`/memories/${memory.id}`}>${memory.title || "Untitled"}</a></h2>
    ${text && html`<p class="text">${text}</p>`}
    <p class="note">
      ${memory.confidence && html`<span class="confidence">${matchLabel(memory.confidence)}</span> · `}
      <${Time} at=${memory.timestamp} />${memory.superseded_by && html` · superseded`}</p>
    ${memory.tags?.length ? html`<${Tags} tags=${memory.tags} />` : null}
    ${children}
  </li>`;
}

// An action with its state: `busy`, `error`, `done` (its result) and `run`. If it runs again before it has ended, the
// earlier result is ignored.
export function useAction(work) {
  const [state, setState] = useState({ busy: false, error: null, done: null });
  const latest = useRef(0);
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
    if (number !== latest.current) return undefined;
    setState(next);
    return next.done;
  };
  return { ...state, run };
}

// A list that is loaded page by page. `name` is unique on the page. `loadPage` takes a cursor and returns `items` and
// the cursor `next`. `start` loads the first page or restores the list after going back; `more` loads the next page.
export function usePages(name, loadPage) {
  const [list, setList] = useState({ items: [], next: undefined }); // `next` is "" after the last page
  const action = useAction(loadPage);
  const load = async (cursor, before = []) => {
    const key = `${location.href} ${name}`;
    if (!cursor) setList(({ items }) => ({ items, next: undefined }));
    const page = await action.run(cursor);
    if (!page) return;
    const loaded = { items: [...before, ...page.items], next: page.next ?? "" };
    saveList(key, loaded);
    setList(loaded);
  };
  const start = () => {
    const saved = savedList(`${location.href} ${name}`);
    return saved ? setList(saved) : load();
  };
  const more = (cursor) => load(cursor, cursor ? list.items : []);
  const isEmpty = list.next === "" && !list.items.length;
  return { ...list, isEmpty, error: action.error, busy: action.busy, start, more };
}

export const More = ({ pages, children }) => html`<div>
  <${Problem} error=${pages.error} />
  ${pages.busy && html`<${Loading} />`}
  ${pages.next && html`<${Button} onClick=${() => pages.more(pages.next)} busy=${pages.busy}>${children}</>`}</div>`;

// Save a file from this page, without a request.
export function save(name, pieces, type = "application/x-ndjson") {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(pieces, { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
