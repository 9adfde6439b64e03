// The newest memories, page by page, within a stretch of time and tags that the address names.
import { html, useEffect } from "./vendor/htm-preact.js";
import { call } from "./mcp.js";
import { go } from "./address.js";
import { Entry, Heading, joined, listed, More, Problem, stamp, useAction, usePages, ZONE } from "./parts.js";
import { Timeline } from "./timeline.js";

const LIMIT = 50;

function filtersOf(address) {
  const filters = {};
  for (const name of ["after", "before"]) if (address.searchParams.get(name)) filters[name] = address.searchParams.get(name);
  const tags = listed(address.searchParams.get("tags") ?? "");
  if (filters.after || filters.before) filters.timezone = ZONE;
  return tags.length ? { ...filters, tags } : filters;
}

const addressOf = ({ timezone, ...filters }) => `/newest?${new URLSearchParams({ ...filters, ...(filters.tags && { tags: joined(filters.tags) }) })}`;

// By that tag, or no longer by it.
const toggled = ({ tags, ...rest }, tag) => (tags?.includes(tag) ? rest : { ...rest, tags: [tag] });

export function Newest({ address, may }) {
  const filters = filtersOf(address);
  const pages = usePages("memories", async (cursor) => {
    const page = await call("list_memories", { ...filters, limit: LIMIT, ...(cursor ? { cursor } : {}) });
    return { found: page.memories, next: page.next_cursor };
  });
  useEffect(() => void pages.start(), [address.search]);
  const { after, before, tags } = filters;
  return html`<div>
    <${Heading}>Newest</>
    ${may.has("memory_timeline") && html`<${Timeline} filters=${tags ? { tags } : {}} span=${filters} onMarked=${(span) => go(addressOf({ ...filters, ...span }))} />`}
    ${may.has("memory_facets") && html`<${Facets} filters=${filters} />`}
    ${Object.keys(filters).length > 0 && html`<p role="status" class="note">
      ${(after || before) && `From ${after ? stamp(after) : "…"} to ${before ? stamp(before) : "…"}. `}
      ${tags && `Tagged ${tags.join(" or ")}. `}<a href="/newest">Show all</a></p>`}
    <h2 class="hidden">Memories</h2>
    <ol class="entries">${pages.items.map((memory) => html`<${Entry} key=${memory.id} memory=${memory} />`)}</ol>
    ${pages.next === "" && !pages.items.length && html`<p>${Object.keys(filters).length ? "Nothing is remembered of that." : "Nothing is remembered yet."}</p>`}
    <${More} pages=${pages}>Older ones</>
  </div>`;
}

function Facets({ filters }) {
  const counting = useAction(() => call("memory_facets", filters));
  useEffect(() => void counting.run(), [JSON.stringify(filters)]);
  return html`<div><${Problem} error=${counting.error} />
    ${counting.done && counting.done.tags.length > 0 && html`<ul class="tags" aria-label="Tags to filter by">${counting.done.tags.map(
      ({ tag, memories }) => html`<li><a href=${addressOf(toggled(filters, tag))} aria-current=${filters.tags?.includes(tag) ? "true" : null}>
        ${tag} <span class="note">${memories}</span></a></li>`,
    )}</ul>`}</div>`;
}
