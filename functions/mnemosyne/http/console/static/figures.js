// The memory in figures, and its commonest tags.
import { html, useEffect } from "./vendor/htm-preact.js";
import { call } from "./mcp.js";
import { Heading, Problem, taggedAddress, useAction, Waiting, When } from "./parts.js";

const NUMBER = new Intl.NumberFormat();
const QUOTA = { memories: "memories", bytes: "bytes", texts_today: "texts embedded today" };

export function Figures() {
  const stats = useAction(() => call("memory_stats"));
  useEffect(() => void stats.run(), []);
  return html`<div><${Heading}>Figures</><${Problem} error=${stats.error} />
    ${stats.busy && html`<${Waiting} />`}${stats.done && html`<${Shown} stats=${stats.done} />`}</div>`;
}

function Shown({ stats }) {
  const most = Math.max(...Object.values(stats.tags), 1);
  return html`<div>
    <dl class="figures">
      <dt>Memories</dt><dd>${NUMBER.format(stats.memories)}</dd>
      <dt>Waiting</dt><dd>${NUMBER.format(stats.pending)}</dd>
      <dt>Given up</dt><dd>${NUMBER.format(stats.dead_lettered)}</dd>
      ${stats.oldest && html`<dt>Oldest</dt><dd><${When} at=${stats.oldest} /></dd><dt>Newest</dt><dd><${When} at=${stats.newest} /></dd>`}
      <dt>On disk</dt><dd>${NUMBER.format(Math.ceil(stats.storage_bytes / 1024))} KiB</dd>
      <dt>Embedded by</dt><dd>${stats.embedding_model}, ${stats.embedding_dimension} dimensions</dd>
      ${Object.entries(QUOTA).filter(([name]) => stats.quota[`${name.replace("texts_today", "texts")}_limit`] != null).map(
        ([name, said]) => html`<dt>Quota of ${said}</dt><dd>${NUMBER.format(stats.quota[name] ?? 0)} of ${NUMBER.format(stats.quota[`${name.replace("texts_today", "texts")}_limit`])}</dd>`,
      )}
    </dl>
    <h2>Tags</h2>
    ${Object.keys(stats.tags).length === 0 && html`<p>No memory has one yet.</p>`}
    <dl class="bars">${Object.entries(stats.tags).map(([tag, count]) => html`
      <dt><a href=${taggedAddress(tag)}>${tag}</a></dt>
      <dd><meter min="0" max=${most} value=${count} aria-label=${tag}></meter> ${NUMBER.format(count)}</dd>`)}</dl>
  </div>`;
}
