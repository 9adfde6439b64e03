// What stands around a memory: what it replaces, what replaces it, what nearly says the same, how it was rated.
import { html, useEffect } from "./vendor/htm-preact.js";
import { call } from "./mcp.js";
import { Problem, useAction, When } from "./parts.js";

const SAID = { 1: "It helped", 0: "Neither", "-1": "It misled" };

const Related = ({ title, memories }) => (memories.length ? html`<h2>${title}</h2><ul class="lines">${memories.map(
  (one) => html`<li><a href=${`/memories/${one.id}`}>${one.title || "Untitled"}</a> <span class="note"><${When} at=${one.timestamp} /></span></li>`,
)}</ul>` : null);

export function History({ id }) {
  const history = useAction(() => call("memory_history", { id }));
  useEffect(() => void history.run(), []);
  const found = history.done;
  return html`<div><${Problem} error=${history.error} />${found && html`
    <${Related} title="Replaced by" memories=${found.superseded_by} />
    <${Related} title="It replaces" memories=${found.supersedes} />
    <${Related} title="Nearly the same" memories=${found.similar} />
    ${found.ratings.length > 0 && html`<h2>Ratings</h2><ul class="lines">${found.ratings.map(
      (one) => html`<li>${SAID[one.rating]}${one.reason && `: ${one.reason}`} <span class="note"><${When} at=${one.rated_at} /></span></li>`,
    )}</ul>`}`}</div>`;
}
