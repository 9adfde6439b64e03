// Related memories and ratings of a memory.
import { html, useEffect } from "./vendor/htm-preact.js";
import { call } from "./mcp.js";
import { Problem, Time, useAction } from "./components.js";

const RATINGS = { 1: "Helpful", 0: "Neutral", "-1": "Misleading" };

function Related({ title, memories }) {
  if (!memories.length) return null;
  return html`<h2>${title}</h2><ul class="lines">${memories.map((memory) => html`<li>
    <a href=${`/memories/${memory.id}`}>${memory.title || "Untitled"}</a>${" "}
    <span class="note"><${Time} at=${memory.timestamp} /></span></li>`)}</ul>`;
}

function Ratings({ ratings }) {
  if (!ratings.length) return null;
  return html`<h2>Ratings</h2><ul class="lines">${ratings.map(({ rating, reason, rated_at: at }) => html`<li>
    ${RATINGS[rating]}${reason && `: ${reason}`}${" "}<span class="note"><${Time} at=${at} /></span></li>`)}</ul>`;
}

export function History({ id }) {
  const history = useAction(() => call("memory_history", { id }));
  useEffect(() => void history.run(), []);
  const related = history.done;
  return html`<div><${Problem} error=${history.error} />${related && html`
    <${Related} title="Replaced by" memories=${related.superseded_by} />
    <${Related} title="Replaces" memories=${related.supersedes} />
    <${Related} title="Similar memories" memories=${related.similar} />
    <${Ratings} ratings=${related.ratings} />`}</div>`;
}
