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
