// The page of one memory: its text, its session and history, and the actions on it.
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { go, goUp, latestChange, results } from "./address.js";
import { Button, Heading, Icon, Loading, LoadProblem, Menu, Note, save, Time, useAction } from "./components.js";
import { copy } from "./copy.js";
import { bringBack, deletedIds, deleteLater, hideDeleted } from "./deletions.js";
import { person } from "./health.js";
import { useKeys } from "./keys.js";
import { MOST_CHARACTERS, parseMarkdown, renderBlocks } from "./markdown.js";
import { call } from "./mcp.js";
import { useValue } from "./observable.js";
import { Rate, useRatings } from "./rating.js";
import { Replace } from "./replace.js";
import { nameOf } from "./row.js";
import { Side } from "./side.js";
import { bodyOf, number } from "./text.js";
import { showToast } from "./toast.js";

export function Memory({ id, may }) {
  const reading = useAction(() => call("get_memory", { id, neighbours: true }));
  const history = useAction(() => call("memory_history", { id }));
  const load = () => Promise.all([reading.run(), may.has("memory_history") && history.run()]);
  const latest = useValue(latestChange);
  const change = !latest.ids || latest.ids.includes(id) ? latest : null;
  useEffect(() => void reading.run(), [change]);
  useEffect(() => { if (reading.error?.code === "not_found") hideDeleted(id); }, [reading.error]);
  // Load the history again when another person logs in, because it contains the person's own rating.
  useEffect(() => { if (may.has("memory_history")) history.run(); }, [useValue(person), change]);
  const isDeleted = useValue(deletedIds).has(id);
  const memory = reading.done;
  if (memory) {
    const problem = html`<${LoadProblem} error=${history.error} onRetry=${() => history.run()} isPart />`;
    return html`<${Sheet} ...${{ id, may, memory, isDeleted, problem }} history=${history.done} />`;
  }
  // The heading is the same element before and after loading, so that it keeps the focus.
  return html`<${Position} id=${id} /><div class="stack"><${Heading}>Memory</>
    <${LoadProblem} error=${reading.error} onRetry=${load} />${!reading.error && html`<${Loading} rows=${4} />`}</div>`;
}

// The position of the memory in the list from which it was opened, and its neighbours in this list.
function usePosition(id) {
  const list = results();
  const index = list ? list.ids.indexOf(id) : -1;
  if (index < 0) return { href: "/", name: "Memories" };
  const at = (step) => list.ids[index + step];
  return { ...list, index, count: list.ids.length, before: at(-1), after: at(1) };
}

// Open another memory of the list in place of this one. Going back then leads to the list, not to the memories before.
const open = (id) => go(`/memories/${id}`, { isReplaced: true });

function Position({ id }) {
  const { href, name, index, count, before, after } = usePosition(id);
  useKeys({
    j: () => (after ? open(after) : false),
    k: () => (before ? open(before) : false),
    Escape: () => goUp(href),
  });
  const step = (icon, label, other) => html`<${Button} class="btn small icon" icon=${icon} aria-label=${label}
    busy=${!other} onClick=${() => open(other)} />`;
  return html`<div class="bar-top"><div class="grow">
    <a class="btn quiet" href=${href} data-up><${Icon} name="left" small />${name}</a>
    ${count > 1 && html`<span class="faint small num wide">${index + 1} of ${count}</span>
      <span class="joined">
        ${step("left", "Previous result (k)", before)}${step("right", "Next result (j)", after)}</span>`}
  </div></div>`;
}

function Sheet({ id, may, memory, history, problem, isDeleted }) {
  const [isReplacing, setIsReplacing] = useState(false);
  const [isSource, setIsSource] = useState(memory.content.length > MOST_CHARACTERS);
  const ratings = useRatings(id, history, may);
  const position = usePosition(id);
  const actions = useActions({ id, may, memory, position, onReplace: () => setIsReplacing(true) });
  useKeys({
    s: () => setIsSource(!isSource),
    "+": () => ratings.rate(1),
    "-": () => ratings.rate(-1),
    "−": () => ratings.rate(-1),
  });
  return html`<${Bar} ...${{ id, may, actions, isDeleted }} />
    ${isDeleted && html`<div class="results"><${Note} kind="warn" role="status">
      <p>This memory is deleted.</p></></div>`}
    ${memory.hold && html`<div class="results"><${Note}>
      <p>A legal hold keeps this memory, so it cannot be deleted: ${memory.hold.reason}</p></></div>`}
    <div class="with-side"><article class="panel sheet" aria-labelledby="title">
      <${Head} ...${{ memory, history, ratings, may }} />
      <${Content} memory=${memory} isSource=${isSource} />
      <footer class="sheet-foot"><${Rate} ratings=${ratings} /><span class="grow"></span>
        <${View} isSource=${isSource} onChange=${setIsSource} /></footer></article>
      <${Side} ...${{ id, may, memory, history, problem }} /></div>
    ${isReplacing && html`<${Replace} memory=${memory} onClose=${() => setIsReplacing(false)} />`}`;
}

// Actions on the memory: functions by name. An action is undefined if the caller may not do it.
function useActions({ id, may, memory, position, onReplace }) {
  const mayChange = may.has("update_memory");
  const named = { id, title: nameOf({ ...memory, preview: bodyOf(memory.content) }) };
  const remove = () => {
    deleteLater([named]);
    goUp(position.href);
  };
  const actions = {
    edit: mayChange && (() => go(`/memories/${id}/edit`)),
    replace: mayChange && onReplace,
    correct: mayChange && may.has("ingest_memory") && (() => go(`/add?replaces=${id}`)),
    copyText: () => copy(memory.content, "Text copied."),
    copyLink: () => copy(`${location.origin}/memories/${id}`, "Link copied."),
    exportMarkdown: may.has("export_memories") && (() => exportMarkdown(id)),
    remove: may.has("delete_memory") && !memory.hold && remove,
  };
  useKeys({
    e: actions.edit || undefined,
    r: actions.replace || undefined,
    c: actions.copyText,
    Delete: actions.remove || undefined,
  });
  return actions;
}

// Save the memory as a Markdown file.
async function exportMarkdown(id) {
  try {
    const { files: [{ name, text }] } = await call("export_memories", { ids: [id], format: "markdown" });
    save(name, [text], "text/markdown");
  } catch (error) {
    showToast(`Not exported: ${error.message}`);
  }
}

function Bar({ id, actions, isDeleted }) {
  const item = (icon, name, action, key, kind = "") => action && html`<button class=${kind} onClick=${action}>
    <${Icon} name=${icon} />${name}${key && html`<kbd>${key}</kbd>`}</button>`;
  const more = html`<${Icon} name="more" />`;
  return html`<div class="bar-with-actions"><${Position} id=${id} />${!isDeleted && html`<div class="btns">
    <${Button} class="btn quiet wide" icon="copy" onClick=${actions.copyText}>Copy</>
    ${actions.edit && html`<a class="btn" href=${`/memories/${id}/edit`}><${Icon} name="edit" small />Edit</a>`}
    <${Menu} label="More" summary=${more}>
      ${item("swap", "Replace with…", actions.replace, "r")}
      ${item("edit", "Write a correction", actions.correct)}
      ${actions.replace && html`<hr />`}
      ${item("link", "Copy link", actions.copyLink)}
      ${item("copy", "Copy text", actions.copyText, "c")}
      ${item("download", "Export as Markdown", actions.exportMarkdown)}
      ${actions.remove && html`<hr />${item("trash", "Delete", actions.remove, "Del", "danger")}`}</></div>`}</div>`;
}

function Head({ memory, history, ratings, may }) {
  const { superseded_by: successor, title_given: isGiven } = memory;
  const title = memory.title || "Untitled";
  const replaced = history?.supersedes?.[0];
  const back = may.has("update_memory") && html`<${Button} class="btn small"
    onClick=${() => bringBack([memory.id], call)}>Bring it back</>`;
  return html`<header class="sheet-head"><div class="grow">
    <${Heading} id="title" class=${isGiven === false ? "sr" : ""} dir="auto" lang="">${title}</>
    <p class="meta"><${Time} at=${memory.timestamp} />
      ${ratings.helped > 0 && html`<span class="badge good"><${Icon} name="up" small />
        ${timesText("Helped", ratings.helped)}</span>`}
      ${ratings.misled > 0 && html`<span class="badge bad"><${Icon} name="thumbdown" small />
        ${timesText("Misled", ratings.misled)}</span>`}
      ${replaced && html`<span>replaces <a href=${`/memories/${replaced.id}`}>${othersText(history)}</a></span>`}
      ${memory.expires_at && html`<span>expires <${Time} at=${memory.expires_at} /></span>`}
      ${memory.pinned && html`<span class="badge">pinned</span>`}</p>
    ${successor && html`<p class="results"><${Note} kind="warn" button=${back}><p>This memory was replaced.${" "}
      <a href=${`/memories/${successor}`}>Read the current one</a></p></></p>`}</div></header>`;
}

// How many memories the memory replaces, directly or indirectly. The history names at most 50.
export function othersText({ supersedes, more }) {
  if (more.includes("supersedes")) return `more than ${number(supersedes.length)} others`;
  return supersedes.length === 1 ? "another one" : `${number(supersedes.length)} others`;
}

export function timesText(word, count) {
  if (count === 1) return `${word} once`;
  return count === 2 ? `${word} twice` : `${word} ${count} times`;
}

function Content({ memory, isSource }) {
  const place = useRef(null);
  if (isSource) {
    return html`<pre class="read source" tabindex="0" role="group" aria-label="Source" dir="auto" lang="" ref=${place}>
      ${memory.content}</pre>`;
  }
  return html`<div class="read" lang="" ref=${place}>${renderBlocks(parseMarkdown(bodyOf(memory.content)))}</div>`;
}

function View({ isSource, onChange }) {
  const button = (name, value) => html`<${Button} class="btn small" aria-pressed=${String(isSource === value)}
    onClick=${() => onChange(value)}>${name}</>`;
  return html`<span class="joined" role="group" aria-label="Show as">
    ${button("Formatted", false)}${button("Source", true)}</span>`;
}
