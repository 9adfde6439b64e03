// What several pages show: a memory in a list, its tags and time, an error, a wait.
import { html, useState } from "./vendor/htm-preact.js";

const STAMP = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

export const When = ({ at }) => html`<time datetime=${at}>${STAMP.format(new Date(at))}</time>`;

export const Tags = ({ tags }) =>
  html`<ul class="tags" aria-label="Tags">${tags.map(
    (tag) => html`<li><a href=${`/?tags=${encodeURIComponent(tag)}`}>${tag}</a></li>`,
  )}</ul>`;

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

// Something that is done when it is asked for: whether it is under way, what came of it, and how to ask.
export function useAction(work) {
  const [state, setState] = useState({ busy: false, error: null, done: null });
  const run = async (...given) => {
    setState({ busy: true, error: null, done: state.done });
    try {
      const done = await work(...given);
      setState({ busy: false, error: null, done });
      return done;
    } catch (error) {
      setState({ busy: false, error, done: null });
      return undefined;
    }
  };
  return { ...state, run };
}

// Words between commas, as tags are typed.
export const listed = (text) => text.split(",").map((one) => one.trim()).filter(Boolean);

// A list that goes on page by page: `page` returns an item list and a cursor, and `more` asks for the next.
export function usePages(page) {
  const [items, setItems] = useState([]);
  const action = useAction(async (cursor) => {
    const { found, next } = await page(cursor);
    setItems((before) => (cursor ? [...before, ...found] : found));
    return next ?? "";
  });
  return { items, error: action.error, busy: action.busy, done: action.done, more: action.run };
}

export const More = ({ pages, children }) => html`<div>
  <${Problem} error=${pages.error} />
  ${pages.busy && html`<${Waiting} />`}
  ${pages.done && html`<button onClick=${() => pages.more(pages.done)} disabled=${pages.busy}>${children}</button>`}</div>`;

// Offer what was made here as a file, without it ever leaving the browser.
export function save(name, pieces, type = "application/x-ndjson") {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(pieces, { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
