// What several pages show: a heading, a button, a memory in a list, its tags and time, an error, a wait.
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { keepList, keptList } from "./address.js";

const STAMP = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
export const ZONE = STAMP.resolvedOptions().timeZone;

// A moment where the person is; what no moment is stays as it was written.
export const stamp = (at) => (Number.isNaN(Date.parse(at)) ? at : STAMP.format(new Date(at)));

export const When = ({ at }) => html`<time datetime=${at}>${stamp(at)}</time>`;

// What a page is called: by its window too, and by who reads on from there after a link.
export function Heading({ children }) {
  const place = useRef(null);
  useEffect(() => void (document.title = `${place.current.textContent} · Mnemosyne`));
  return html`<h1 tabindex="-1" ref=${place}>${children}</h1>`;
}

// A button that keeps the keyboard's place while what it does is under way; pressed meanwhile it does nothing.
export function Button({ busy = false, onClick, children, ...rest }) {
  const pressed = (event) => (busy ? event.preventDefault() : onClick?.(event));
  return html`<button ...${rest} aria-disabled=${busy ? "true" : null} onClick=${pressed}>${children}</button>`;
}

// Where the memories with a tag are found.
export const taggedAddress = (tag) => `/?tags=${encodeURIComponent(joined([tag]))}`;

export const Tags = ({ tags }) =>
  html`<ul class="tags" aria-label="Tags">${tags.map((tag) => html`<li><a href=${taggedAddress(tag)}>${tag}</a></li>`)}</ul>`;

export const Problem = ({ error }) => (error ? html`<p class="problem" role="alert">${error.message}</p>` : null);

export const Waiting = () => html`<p class="note" role="status">Working …</p>`;

// One line of a list; `text` is stored by somebody: it is shown as it is, and nothing in it is acted upon.
export function Entry({ memory, text, children }) {
  return html`<li class="entry">
    <h2><a href=${`/memories/${memory.id}`}>${memory.title || "Untitled"}</a></h2>
    ${text && html`<p class="text">${text}</p>`}
    <p class="note"><${When} at=${memory.timestamp} />${memory.superseded_by && html` · superseded`}</p>
    ${memory.tags?.length ? html`<${Tags} tags=${memory.tags} />` : null}
    ${children}
  </li>`;
}

// Something that is done when it is asked for: whether it is under way, what came of it, and how to ask. What came of an
// earlier asking, late, is nothing any more.
export function useAction(work) {
  const [state, setState] = useState({ busy: false, error: null, done: null });
  const latest = useRef(0);
  const run = async (...given) => {
    const asked = ++latest.current;
    setState((before) => ({ busy: true, error: null, done: before.done }));
    let ended;
    try {
      ended = { busy: false, error: null, done: await work(...given) };
    } catch (error) {
      ended = { busy: false, error, done: null };
    }
    if (asked !== latest.current) return undefined;
    setState(ended);
    return ended.done;
  };
  return { ...state, run };
}

// Tags as they are typed: between commas, and in quotes, where `""` is a quote, if a comma or a quote is in one.
export const listed = (text) =>
  [...text.matchAll(/\s*(?:"((?:[^"]|"")*)"|([^,]*))\s*(?:,|$)/g)]
    .map(([, quoted, plain]) => (quoted?.replaceAll('""', '"') ?? plain).trim())
    .filter(Boolean);
export const joined = (tags) => tags.map((tag) => (/[",]/.test(tag) ? `"${tag.replaceAll('"', '""')}"` : tag)).join(", ");

// A list, by a name that no other on its page has, that goes on page by page: `page` returns an item list and a cursor, `start` asks for the first, unless the person
// has come back to it, and `more` for the next.
export function usePages(name, page) {
  const [list, setList] = useState({ items: [], next: undefined }); // next is "" once there is none
  const action = useAction(page);
  const more = async (cursor, before = []) => {
    const address = `${location.href} ${name}`;
    if (!cursor) setList(({ items }) => ({ items, next: undefined }));
    const got = await action.run(cursor);
    if (!got) return;
    const now = { items: [...before, ...got.found], next: got.next ?? "" };
    keepList(address, now);
    setList(now);
  };
  const start = () => {
    const before = keptList(`${location.href} ${name}`);
    return before ? setList(before) : more();
  };
  return { ...list, error: action.error, busy: action.busy, start, more: (cursor) => more(cursor, cursor ? list.items : []) };
}

export const More = ({ pages, children }) => html`<div>
  <${Problem} error=${pages.error} />
  ${pages.busy && html`<${Waiting} />`}
  ${pages.next && html`<${Button} onClick=${() => pages.more(pages.next)} busy=${pages.busy}>${children}</>`}</div>`;

// Offer what was made here as a file, without it ever leaving the browser.
export function save(name, pieces, type = "application/x-ndjson") {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(pieces, { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
