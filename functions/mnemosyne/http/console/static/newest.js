// The newest memories, page by page.
import { html, useEffect, useState } from "./vendor/htm-preact.js";
import { call } from "./mcp.js";
import { Entry, Problem, useAction, Waiting } from "./parts.js";

const LIMIT = 50;

export function Newest() {
  const [memories, setMemories] = useState([]);
  const page = useAction(async (cursor) => {
    const listed = await call("list_memories", { limit: LIMIT, ...(cursor ? { cursor } : {}) });
    setMemories((before) => (cursor ? [...before, ...listed.memories] : listed.memories));
    return listed;
  });
  useEffect(() => void page.run(), []);
  return html`
    <h1 tabindex="-1">Newest</h1>
    <ol class="entries">${memories.map((memory) => html`<${Entry} key=${memory.id} memory=${memory} />`)}</ol>
    ${page.done && !memories.length && html`<p>Nothing is remembered yet.</p>`}
    <${Problem} error=${page.error} />
    ${page.busy && html`<${Waiting} />`}
    ${page.done?.next_cursor && html`<button onClick=${() => page.run(page.done.next_cursor)} disabled=${page.busy}>Older ones</button>`}
  `;
}
