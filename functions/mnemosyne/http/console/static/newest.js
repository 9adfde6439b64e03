// The newest memories, page by page, filtered by time and tags.
import { html, useEffect } from "./vendor/htm-preact.js";
import { go } from "./address.js";
import { call } from "./mcp.js";
import { Entry, Heading, More, Problem, useAction, usePages } from "./components.js";
import { formatTags, parseTags } from "./tags.js";
import { formatTime, ZONE } from "./time.js";
import { Timeline } from "./timeline.js";

const LIMIT = 50;

// Filters in an address, as arguments of list_memories.
export function filtersOf({ searchParams }) {
  const filters = {};
  for (const name of ["after", "before"]) if (searchParams.get(name)) filters[name] = searchParams.get(name);
  if (filters.after || filters.before) filters.timezone = ZONE;
  const tags = parseTags(searchParams.get("tags") ?? "");
  return tags.length ? { ...filters, tags } : filters;
}

// The inverse of filtersOf.
export function addressOf({ timezone: _, tags, ...times }) {
  return `/newest?${new URLSearchParams({ ...times, ...(tags && { tags: formatTags(tags) }) })}`;
}

// Filter by a tag, or remove that filter.
export const toggleTag = ({ tags, ...rest }, tag) => (tags?.includes(tag) ? rest : { ...rest, tags: [tag] });

export function Newest({ address, may }) {
  const filters = filtersOf(address);
  const { tags } = filters;
  const isFiltered = Object.keys(filters).length > 0;
  const pages = usePages("memories", async (cursor) => {
    const page = await call("list_memories", { ...filters, limit: LIMIT, ...(cursor ? { cursor } : {}) });
    return { items: page.memories, next: page.next_cursor };
  });
  useEffect(() => void pages.start(), [address.search]);
  const select = (times) => go(addressOf({ ...filters, ...times }));
  return html`<div>
    <${Heading}>Newest</>
    ${may.has("memory_timeline") && html`
      <${Timeline} filters=${tags ? { tags } : {}} selection=${filters} onSelect=${select} />`}
    ${may.has("memory_facets") && html`<${Facets} filters=${filters} />`}
    ${isFiltered && html`<${Filters} filters=${filters} />`}
    <h2 class="hidden">Memories</h2>
    <ol class="entries">${pages.items.map((memory) => html`<${Entry} key=${memory.id} memory=${memory} />`)}</ol>
    ${pages.isEmpty && html`<p>${isFiltered ? "No memories match." : "No memories yet."}</p>`}
    <${More} pages=${pages}>Show older</>
  </div>`;
}

function Filters({ filters: { after, before, tags } }) {
  const end = (time) => (time ? formatTime(time) : "…");
  return html`<p role="status" class="note">
    ${(after || before) && `From ${end(after)} to ${end(before)}. `}
    ${tags && `Tagged ${tags.join(" or ")}. `}<a href="/newest">Show all</a></p>`;
}

function Facets({ filters }) {
  const counting = useAction(() => call("memory_facets", filters));
  useEffect(() => void counting.run(), [JSON.stringify(filters)]);
  const tags = counting.done?.tags ?? [];
  return html`<div><${Problem} error=${counting.error} />
    ${tags.length > 0 && html`<ul class="tags" aria-label="Tags to filter by">${tags.map(({ tag, memories }) => html`
      <li><a href=${addressOf(toggleTag(filters, tag))} aria-current=${filters.tags?.includes(tag) ? "true" : null}>
        ${tag} <span class="note">${memories}</span></a></li>`)}</ul>`}</div>`;
}
