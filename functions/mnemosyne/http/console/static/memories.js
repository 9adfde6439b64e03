// The page Memories: without a query the newest memories by day, and with a query the best results by confidence.
import { html, useEffect, useLayoutEffect, useRef, useState } from "./vendor/htm-preact.js";
import { changes, go, setResults, tellChange } from "./address.js";
import { Button, Heading, Icon, Loading, LoadProblem, More, Note, useAction, usePages } from "./components.js";
import { isWriting, Steps } from "./connect.js";
import { groupsOf } from "./dates.js";
import { deletedIds } from "./deletions.js";
import { FACETS, Filters } from "./filters.js";
import { isComposed } from "./keys.js";
import { call } from "./mcp.js";
import { useValue } from "./observable.js";
import { loadAgain, usePoll } from "./poll.js";
import { Results } from "./results.js";
import { Row } from "./row.js";
import {
  addressOf, formOf, hasFilter, listArguments, listFilters, timelineFilters, toggleTag, withoutFilters,
} from "./search_form.js";
import { useSelection } from "./selection.js";
import { useElements, useParts, useSlices } from "./slices.js";
import { Strip } from "./strip.js";
import { parseTags } from "./tags.js";
import { TypedResults } from "./typed_results.js";
import { isAnswerTo, useTyping } from "./typing.js";
import { memories as countMemories, number } from "./text.js";

const LIMIT = 50;
const RAIL_TAGS = 12;
const TOP_PX = 200; // if the page is scrolled less, new memories are inserted; otherwise a button announces them

export function Memories({ address, may }) {
  const form = formOf(address);
  const counting = useFacets(form, may);
  const facets = counting.done;
  const [times, setTimes] = useState(null); // the period that the server derived from the time filter
  useEffect(() => setTimes(null), [address.search]);
  const name = form.query ? `Results for: ${form.query}` : "Memories";
  const [input, setInput] = useState(null); // the text of the search field, if it was changed
  useEffect(() => setInput(null), [address.search]);
  const { answer, problem } = useTyping(form, input);
  const typed = input === null ? form : { ...form, query: input.trim() }; // a filter keeps the typed text
  const body = form.query ? Results : Recent;
  // The typed results are shown while the person types, and after Enter until the full search has answered.
  const isShown = answer && (input !== null || isAnswerTo(form, answer));
  const typedResults = isShown && html`<${TypedResults} ...${{ form, answer, may }} isSearching=${input === null} />`;
  return html`<${Heading} class="sr">${name}</>
    <div class="with-rail"><div>
      ${may.has("memory_search") && html`<${SearchField} search=${address.search} form=${form}
        onType=${setInput} />`}
      ${problem && html`<p class="help" role="status">${problem}</p>`}
      <${Filters} ...${{ form: typed, counting, times }} />
      ${input !== null && typedResults ? typedResults : html`<${body} key=${address.search} ...${{ form, may, facets }}
        onTimes=${setTimes} before=${typedResults || null} />`}
    </div><${Rail} form=${typed} counting=${counting} /></div>`;
}

// Count the tags, sessions and memories. While the filters change, `done` has the tags and sessions of the earlier
// filters, but not their number of memories, which would be wrong above the new list.
function useFacets(form, may) {
  const filters = listFilters(form);
  const key = JSON.stringify(filters);
  const counting = useAction(async () => ({ key, ...(await call("memory_facets", { ...filters, limit: FACETS })) }));
  const change = useValue(changes);
  const run = () => may.has("memory_facets") && counting.run();
  useEffect(() => void run(), [key, change]);
  const { done } = counting;
  return { error: counting.error, run, done: done && done.key !== key ? { ...done, memories: undefined } : done };
}

function SearchField({ search, form, onType }) {
  const [query, setQueryText] = useState(form.query);
  useLayoutEffect(() => setQueryText(form.query), [search]);
  const setQuery = (text) => {
    setQueryText(text);
    onType(text);
  };
  const field = useRef(null);
  const submit = (event) => {
    event.preventDefault();
    field.current.blur(); // so that j and k work in the results
    go(addressOf({ ...form, query: query.trim() }));
  };
  const clear = () => {
    setQuery("");
    field.current.focus();
    if (form.query) go(addressOf({ ...form, query: "", mode: "hybrid", quality: "" }));
  };
  const onKeyDown = (event) => {
    if (event.key === "Escape" && isComposed(event)) event.preventDefault(); // the browser would clear the field
    else if (event.key === "Escape" && query) clear();
    else if (event.key === "Escape") field.current.blur();
    else return;
    event.preventDefault();
  };
  return html`<form role="search" class="search" onSubmit=${submit}><${Icon} name="search" />
    <input type="search" id="query" aria-label="Search memories" placeholder="Search, or ask a question" ref=${field}
      autocomplete="off" enterkeyhint="search" dir="auto" value=${query} onKeyDown=${onKeyDown}
      onInput=${(event) => setQuery(event.target.value)} />
    ${query ? html`<${Button} class="btn quiet icon small" icon="x" aria-label="Clear" onClick=${clear} />`
      : html`<span class="wide"><kbd>/</kbd></span>`}</form>`;
}

function Rail({ form, counting }) {
  const facets = counting.done;
  if (!facets?.tags.length) {
    return html`<div><${LoadProblem} error=${counting.error} onRetry=${counting.run} isPart /></div>`;
  }
  const on = parseTags(form.tags);
  const total = facets.total_tags ?? facets.tags.length;
  return html`<aside class="rail" aria-label="Tags"><h2>Tags <a
    href="/tags">All ${total >= FACETS ? "" : number(total)}</a></h2>
    <ul class="facet">${facets.tags.slice(0, RAIL_TAGS).map(({ tag, memories }) => html`<li key=${tag}>
      <a href=${addressOf(toggleTag(form, tag))} aria-current=${on.includes(tag) ? "true" : null}>
        <span dir="auto" lang="">${tag}</span>
        <span class="num">${number(memories)}</span></a></li>`)}</ul></aside>`;
}

// Memories without a query, page by page, by day.
function Recent({ form, may, facets, onTimes }) {
  const hidden = useValue(deletedIds);
  const load = async (cursor) => {
    const page = await call("list_memories", { ...listArguments(form, LIMIT), ...(cursor ? { cursor } : {}) });
    return { items: page.memories, next: page.next_cursor, times: page.window };
  };
  const pages = usePages("memories", load);
  useEffect(() => void pages.start(), []);
  useEffect(() => onTimes(pages.times ?? null), [pages.times]);
  const items = pages.items.filter(({ id }) => !hidden.has(id));
  useEffect(() => setResults({ href: addressOf(form), name: "Memories", ids: items.map(({ id }) => id) }));
  const onTagged = (...changed) => pages.change((before) => withTags(before, ...changed));
  const selection = useSelection({ items, may, onTagged });
  const fresh = useFresh(pages, load);
  const rowOf = useElements((memory, row) => html`<${Row} key=${memory.id} memory=${memory} row=${row} />`);
  const partsOf = useParts();
  const days = groups(items.slice(0, useSlices(items.length)), items, pages);
  const select = ({ after, before }) => go(addressOf({ ...form, time: "", after, before }));
  const isEmpty = pages.isEmpty || (pages.next === "" && !items.length);
  if (isEmpty && !hasFilter(form)) return html`<${Nothing} may=${may} form=${form} />`;
  return html`
    ${may.has("memory_timeline") && html`<${Strip} filters=${timelineFilters(form)}
      selection=${pages.times ?? form} onSelect=${select} />`}
    <${ListHead} ...${{ form, facets, selection, fresh, pages }} />
    ${pages.isLoading && html`<${Loading} />`}
    <div class=${selection.isPicking ? "picking" : ""} ref=${selection.list}>${days.map((group) => html`
      <section class="group" key=${group.name}><h2 class="group-name">${group.name}${" "}
        ${group.isWhole && html`<span class="num">${number(group.items.length)}</span>`}</h2>
        <div role="list">${partsOf(group.items).map(({ key, items: rows }) => html`<ul class="rows part" key=${key}
          role="none" style=${{ "--rows": rows.length }}>
          ${rows.map((memory) => rowOf(memory, selection.rowOf(memory.id)))}</ul>`)}</div>
      </section>`)}</div>
    ${isEmpty && html`<${NoMatch} form=${form} />`}
    <${More} pages=${pages} />${selection.dialog}`;
}

// Put the memories of the rows in groups by date. If further memories have no row yet, the last group is incomplete
// (`isWhole` is false).
const groups = (rows, items, { next }) =>
  groupsOf(rows).map((group, index, all) => {
    const isWhole = index < all.length - 1 || (next === "" && rows.length === items.length);
    return { ...group, isWhole };
  });

// Return the items with changed tags: `ids` are the changed memories.
export const withTags = (items, ids, additions, removals) =>
  items.map((item) => (ids.includes(item.id)
    ? { ...item, tags: [...new Set([...(item.tags ?? []).filter((tag) => !removals.includes(tag)), ...additions])] }
    : item));

// Update the loaded memories (`before`) from a newer first page (`newest`). The list begins with the memories of the
// page, up to the last one that is loaded already. The rest of the page is ignored, because it is loaded with the next
// page, unless the page is the whole list (`isWhole`). Then the loaded memories below the page follow. They begin after
// the last memory of the page whose time is unchanged. A memory with another time has moved within the list.
export function mergeNewest(before, newest, isWhole) {
  const loaded = new Map(before.map((item) => [item.id, item]));
  const last = newest.findLastIndex(({ id }) => loaded.has(id));
  const page = isWhole || last < 0 ? newest : newest.slice(0, last + 1);
  const shown = new Set(page.map(({ id }) => id));
  const anchor = newest.findLast(({ id, timestamp }) => loaded.has(id) && loaded.get(id).timestamp === timestamp);
  const place = isWhole ? before.length : before.findIndex(({ id }) => id === anchor?.id) + 1;
  const rest = before.slice(place).filter(({ id }) => !shown.has(id));
  const isSame = (item) => JSON.stringify(loaded.get(item.id)) === JSON.stringify(item);
  return [...page.map((item) => (isSame(item) ? loaded.get(item.id) : item)), ...rest];
}

// Compare the loaded memories (`before`) with newer first pages of the list:
//   items    the memories of the pages
//   isWhole  whether the pages are the whole list
//   hasMore  whether the list has had further memories below the loaded ones
// The result has the loaded memories with the changes of other clients (`known`), the same list with new memories among
// them (`all`), and the number of new memories (`count`). Memories below the loaded ones are loaded with the next page.
// But if the pages are the whole list, `known` ends with these memories. If the pages have none of the loaded memories,
// further new memories may follow the pages (`isGap`).
export function compare(before, { items, isWhole, hasMore }) {
  const ids = new Set(before.map(({ id }) => id));
  const isKnown = ({ id }) => ids.has(id);
  const place = items.findLastIndex(isKnown) + 1;
  const isGap = !place && !isWhole;
  const below = isWhole && hasMore ? items.slice(place) : [];
  const newest = isGap || (isWhole && !hasMore) ? items : items.slice(0, place);
  const known = [...mergeNewest(before, items.filter(isKnown), isWhole), ...below];
  const count = newest.length - newest.filter(isKnown).length;
  return { known, all: mergeNewest(known, [...newest, ...below], isWhole), count, isGap };
}

// Look for changes by other tabs and clients. Changed and deleted memories are updated at once. New memories are
// inserted if the top of the list is in view. Otherwise a button announces their number.
function useFresh(pages, load) {
  const [fresh, setFresh] = useState({ newest: null, count: 0 }); // the newest pages, if they have new memories
  const insert = (newest) => {
    setFresh({ newest: null, count: 0 });
    tellChange();
    const { isGap } = compare(pages.items, newest);
    return isGap ? pages.reload() : pages.change((before) => compare(before, newest).all, newest.isWhole);
  };
  usePoll(async () => {
    if (!pages.isLoaded || pages.busy) return false;
    const change = changes.get();
    const hasMore = Boolean(pages.next);
    const { items, next } = await loadAgain(load, pages.items.length + (hasMore ? 0 : 1));
    if (changes.get() !== change || isWriting()) return true; // the pages may be older than a change in this tab
    const newest = { items, isWhole: !next, hasMore };
    const { known, count } = compare(pages.items, newest);
    const isEnd = newest.isWhole && hasMore;
    const isSame = !isEnd && known.length === pages.items.length
      && known.every((item, index) => item === pages.items[index]);
    if (count && scrollY < TOP_PX) insert(newest);
    else {
      setFresh({ newest, count });
      if (!isSame) {
        pages.change((before) => compare(before, newest).known, newest.isWhole);
        tellChange();
      }
    }
    return !isSame || count !== fresh.count;
  });
  const show = () => {
    insert(fresh.newest);
    scrollTo(0, 0);
  };
  return { count: fresh.count, show };
}

function ListHead({ form, facets, selection, fresh, pages }) {
  const count = facets?.memories;
  const isOldest = form.order === "oldest";
  if (!pages.items.length) return null;
  return html`<div class="list-head"><span class="grow" role="status">
      ${count === undefined ? "" : html`<strong class="num">${number(count)}</strong>
        ${countMemories(count).replace(number(count), "")}`}</span>
    <span role="status">${fresh.count > 0 && html`<${Button} class="btn small" icon="up" onClick=${fresh.show}>
      ${number(fresh.count)} new</>`}</span>
    <${Button} class="btn quiet small" icon="check" aria-pressed=${String(selection.isPicking)}
      onClick=${() => selection.setIsPicking(!selection.isPicking)}>Pick</>
    <${Button} class="btn quiet small" icon="sort"
      onClick=${() => go(addressOf({ ...form, order: isOldest ? "" : "oldest" }))}>
      ${isOldest ? "Oldest first" : "Newest first"}</></div>`;
}

const NoMatch = ({ form }) => html`<div class="panel pad stack none" role="status"><div class="stack-s">
    <h2>No memories match</h2><p class="soft">No memory is within these filters.</p></div>
  <div class="btns"><a class="btn" href=${addressOf(withoutFilters(form))}>Clear the filters</a>
    ${!form.old && html`<a class="btn" href=${addressOf({ ...form, old: "yes" })}><${Icon} name="clock" small />
      Include replaced memories</a>`}</div></div>`;

// Explain an empty list: either there are no memories, or all memories were replaced.
function Nothing({ may, form }) {
  const counting = useAction(() => call("memory_stats"));
  useEffect(() => void counting.run(), []);
  if (!counting.done) return html`<${LoadProblem} error=${counting.error} onRetry=${() => counting.run()} />`;
  if (counting.done.memories > 0) {
    return html`<${Note} kind="info" button=${html`<a class="btn small" href=${addressOf({ ...form, old: "yes" })}>Show
      them</a>`}><p>All ${countMemories(counting.done.memories)} were replaced or wait for their deletion.</p></>`;
  }
  return html`<${Steps} may=${may} isEmpty />`;
}
