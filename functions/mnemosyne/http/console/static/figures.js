// Overview: counts, quotas and the most frequent tags.
import { html, useEffect } from "./vendor/htm-preact.js";
import { call } from "./mcp.js";
import { Heading, Loading, Problem, Time, useAction } from "./components.js";
import { tagAddress } from "./tags.js";

const NUMBER = new Intl.NumberFormat();
const QUOTAS = [
  { name: "Memories", used: "memories", limit: "memories_limit" },
  { name: "Bytes", used: "bytes", limit: "bytes_limit" },
  { name: "Texts embedded today", used: "texts_today", limit: "texts_limit" },
];

export function Figures() {
  const stats = useAction(() => call("memory_stats"));
  useEffect(() => void stats.run(), []);
  return html`<div><${Heading}>Overview</><${Problem} error=${stats.error} />
    ${stats.busy && html`<${Loading} />`}${stats.done && html`<${Stats} stats=${stats.done} />`}</div>`;
}

const Row = ({ name, children }) => html`<dt>${name}</dt><dd>${children}</dd>`;

function Stats({ stats }) {
  const { quota, tags } = stats;
  const most = Math.max(...Object.values(tags), 1);
  return html`<div>
    <dl class="figures">
      <${Row} name="Memories">${NUMBER.format(stats.memories)}</>
      <${Row} name="Pending requests">${NUMBER.format(stats.pending)}</>
      <${Row} name="Dead-lettered requests">${NUMBER.format(stats.dead_lettered)}</>
      ${stats.oldest && html`<${Row} name="Oldest"><${Time} at=${stats.oldest} /></>
        <${Row} name="Newest"><${Time} at=${stats.newest} /></>`}
      <${Row} name="Storage">${NUMBER.format(Math.ceil(stats.storage_bytes / 1024))} KiB</>
      <${Row} name="Embedding model">${stats.embedding_model}, ${stats.embedding_dimension} dimensions</>
      ${QUOTAS.filter(({ limit }) => quota[limit] !== null && quota[limit] !== undefined).map(({ name, used, limit }) =>
        html`<${Row} name=${`Quota: ${name}`}>${NUMBER.format(quota[used] ?? 0)} of ${NUMBER.format(quota[limit])}</>`)}
    </dl>
    <h2>Tags</h2>
    ${Object.keys(tags).length === 0 && html`<p>No tags yet.</p>`}
    <dl class="bars">${Object.entries(tags).map(([tag, count]) => html`
      <dt><a href=${tagAddress(tag)}>${tag}</a></dt>
      <dd><meter min="0" max=${most} value=${count} aria-label=${tag}></meter> ${NUMBER.format(count)}</dd>`)}</dl>
  </div>`;
}
