// A row of a list of memories. Title, text and tags may be hostile: they are shown as text only.
import { html } from "./vendor/htm-preact.js";
import { Line, Time } from "./components.js";
import { dayName, expiryText, rowDate } from "./dates.js";
import { tagAddress } from "./tags.js";
import { plain, shorten } from "./text.js";

const MOST_TAGS = 2;
const MOST_LABEL = 60;

// Title and text of a row. A title that the server has taken from the content is not shown, because the
// text begins with it.
export function labelsOf({ title, title_given: isGiven, preview }) {
  const text = preview ? plain(preview) : "";
  const isCut = isGiven === false || (isGiven === undefined && text.startsWith(plain(title)));
  if (text && isCut) return { title: "", text };
  return { title: plain(title) || "Untitled", text };
}

// Name of a memory for buttons and messages.
export function nameOf(memory) {
  const { title, text } = labelsOf(memory);
  return shorten(title || text, MOST_LABEL);
}

export function RowTags({ tags = [], most = MOST_TAGS }) {
  if (!tags.length) return html`<span></span>`;
  const rest = tags.slice(most);
  return html`<span class="tags">${tags.slice(0, most).map((tag) => html`
    <a class="tag" href=${tagAddress(tag)}><span dir="auto" lang="">${tag}</span></a>`)}
    ${rest.length > 0 && html`<span class="tag more" title=${rest.join(", ")}>
      <span>+${rest.length}<span class="sr"> more tags</span></span></span>`}</span>`;
}

export const Pick = ({ memory, isPicked, onPick }) => html`<label class="pick">
  <input type="checkbox" checked=${isPicked} aria-label=${`Pick: ${nameOf(memory)}`} onClick=${onPick} /></label>`;

export const rowClass = (kind, { isAt, isPicked }) => `${kind}${isAt ? " at" : ""}${isPicked ? " picked" : ""}`;

export function Row({ memory, row }) {
  const { title, text } = labelsOf(memory);
  const badge = memory.superseded_by ? "replaced" : expiryText(memory.expires_at);
  return html`<li class=${rowClass("row", row)} data-id=${memory.id} role="listitem">
    <${Pick} memory=${memory} ...${row} />
    <a class="row-link" href=${`/memories/${memory.id}`} onFocus=${row.onFocus}>
      <${Line} title=${title} text=${text} badge=${badge} /></a>
    <${RowTags} tags=${memory.tags} />
    <${Time} at=${memory.timestamp} name=${rowDate} class="row-date" /></li>`;
}

export const HitDate = ({ at }) => html`<${Time} at=${at} name=${dayName} class="row-date" />`;
