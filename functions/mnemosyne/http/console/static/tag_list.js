// Tags: find, rename, merge and delete them over all memories.
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { changes, forgetMemories } from "./address.js";
import { pickedText } from "./bulk.js";
import {
  Button, Dialog, Heading, IconButton, Loading, LoadProblem, Note, Problem, Time, useAction, useChange,
} from "./components.js";
import { dayName } from "./dates.js";
import { call, client } from "./mcp.js";
import { useValue } from "./observable.js";
import { useBar } from "./shell.js";
import { tagAddress } from "./tags.js";
import { memories as countMemories, number } from "./text.js";
import { showToast } from "./toast.js";

const LIMIT = 100;
const WAIT_MS = 200;

// Characters that are ignored when tags are compared: a # at the beginning, accents and separators. Only accents of
// Latin and Greek letters are ignored, because in other scripts an accented letter is a different letter.
const IGNORED = /^#|(?<=[\p{Script=Latin}\p{Script=Greek}]\p{M}*)\p{M}|[\s\p{Pd}\p{Pc}./:]/gu;

// A key that is equal for tags that look alike. Case, accents and separators are ignored. Other symbols are kept, so
// that C, C++ and C# have different keys.
const skeleton = (tag) => tag.normalize("NFKD").toLowerCase().replace(IGNORED, "");

// Pairs of tags that look alike. The tag with more memories is kept.
export function lookAlikes(tags) {
  const byKey = new Map();
  const pairs = [];
  for (const { tag } of tags.toSorted((one, other) => other.memories - one.memories)) {
    const key = skeleton(tag);
    if (!key) continue;
    if (byKey.has(key)) pairs.push({ tag, to: byKey.get(key) });
    else byKey.set(key, tag);
  }
  return pairs;
}

export function TagList({ may }) {
  const [prefix, setPrefix] = useState("");
  const [picks, setPicks] = useState([]);
  const [open, setOpen] = useState(null); // { tags, to } of the open dialog
  const finding = useAction(async (text) =>
    ({ text, ...(await call("memory_facets", { limit: LIMIT, ...(text ? { prefix: text } : {}) })) }));
  const load = () => finding.run(prefix.trim());
  useEffect(() => {
    const timer = setTimeout(load, prefix ? WAIT_MS : 0);
    return () => clearTimeout(timer);
  }, [prefix, useValue(changes)]);
  const tags = finding.done?.tags ?? [];
  const isFound = finding.done?.text === prefix.trim(); // else the tags are those of an earlier text
  const mayChange = may.has("change_tag");
  const total = finding.done?.total_tags ?? tags.length;
  usePicksBar(picks, { clear: () => setPicks([]), merge: () => setOpen({ kind: "merge", tags: picks }) });
  const toggle = (tag) => setPicks(picks.includes(tag) ? picks.filter((other) => other !== tag) : [...picks, tag]);
  const onDone = () => setPicks((before) => before.filter((tag) => !open.tags.includes(tag)));
  return html`<div class="narrow"><div class="page-head"><${Heading} class="grow">Tags</>
      <input class="input rail-field" aria-label="Find a tag"
        placeholder=${total ? `Find among ${number(total)}` : "Find"}
        value=${prefix} onInput=${(event) => setPrefix(event.target.value)} /></div>
    <div class="stack"><${LoadProblem} error=${finding.error} onRetry=${load} />
      ${mayChange && lookAlikes(tags).slice(0, 1).map(({ tag, to }) => html`<${Note} kind="info" button=${html`
        <${Button} class="btn small"
          onClick=${() => setOpen({ kind: "merge", tags: [tag, to], to })}>Merge into ${to}</>`}>
        <p><strong>${tag}</strong> and <strong>${to}</strong> look like one tag.</p></>`)}
      ${!finding.done && !finding.error && html`<${Loading} />`}
      ${isFound && !tags.length && html`<p class="soft" role="status">
        ${prefix.trim() ? "No tag begins with this." : "No tags yet."}</p>`}
      ${tags.length > 0 && html`<${Table} ...${{ tags, picks, toggle, mayChange, setOpen }} />`}
      ${isFound && total > tags.length && !prefix.trim() && html`<p class="help">These are the${" "}
        ${number(tags.length)} most used of ${number(total)} tags. Find the others by their first letters.</p>`}
      ${finding.done?.complete === false && html`<p class="help">Counted over the newest 100,000 memories.</p>`}</div>
    ${open && html`<${dialogs[open.kind]} ...${open} onClose=${() => setOpen(null)} onDone=${onDone} />`}</div>`;
}

// The bar of actions on picked tags.
const usePicksBar = (picks, { clear, merge }) =>
  useBar(picks.length > 0 && html`<div class="bulk" role="group" aria-label="Actions on the picked tags">
    <span class="count">${pickedText(picks.length)}</span>
    ${picks.length > 1 && html`<button onClick=${merge}>Merge …</button>`}
    <button onClick=${clear}>Pick none</button></div>`);

function Table({ tags, picks, toggle, mayChange, setOpen }) {
  return html`<div class="panel flush"><table class="table tagtable"><thead><tr>
      <th><span class="sr">Pick</span></th><th>Tag</th><th>Memories</th><th>Last used</th><th><span
        class="sr">Action</span></th>
    </tr></thead><tbody>${tags.map(({ tag, memories, last_used: used }) => html`
      <tr key=${tag} class=${picks.includes(tag) ? "picked" : ""}>
        <td>${mayChange && html`<label class="btns"><input type="checkbox" aria-label=${`Pick ${tag}`}
          checked=${picks.includes(tag)} onChange=${() => toggle(tag)} /></label>`}</td>
        <td><a href=${tagAddress(tag)} dir="auto" lang="">${tag}</a></td><td class="num sub">${number(memories)}</td>
        <td class="sub wide">${used && html`<${Time} at=${used} name=${dayName} />`}</td>
        <td>${mayChange && html`<span class="btns"><span class="grow"></span>
          <${Button} class="btn quiet small" aria-label=${`Rename ${tag}`}
            onClick=${() => setOpen({ kind: "rename", tags: [tag], memories })}>Rename</>
          <${IconButton} name="trash" label=${`Delete the tag ${tag}`}
            onClick=${() => setOpen({ kind: "remove", tags: [tag], memories })} /></span>`}</td></tr>`)}
    </tbody></table></div>`;
}

// Change a tag on all memories, up to 200 memories with each call. `onProgress` gets the number of changed memories.
async function changeTag(args, onProgress = () => {}) {
  const callTool = client.retrying();
  let total = 0;
  try {
    for (;;) {
      const { changed, remaining } = await callTool("change_tag", args);
      total += changed;
      onProgress(total);
      if (!remaining) return total;
    }
  } finally {
    forgetMemories();
  }
}

// A dialog that changes tags, and shows how many memories are done.
function Change({ title, action, kind = "main", calls, messageOf, onClose, onDone, children }) {
  const [count, setCount] = useState(0);
  const changing = useChange(action, async () => {
    let total = 0;
    for (const args of calls()) total += await changeTag(args, (done) => setCount(total + done));
    showToast(messageOf(total));
    onDone();
    return true;
  });
  const submit = (event) => {
    event.preventDefault();
    if (!changing.busy) changing.run();
  };
  const button = html`<${Button} class=${`btn ${kind}`} busy=${changing.busy} onClick=${submit}>${action}</>`;
  return html`<${Dialog} title=${title} onClose=${onClose} action=${button} change=${changing}>
    <form class="stack" onSubmit=${submit}>${children}
      ${(changing.busy || changing.error) && count > 0 && html`<p class="help" role="status">
        ${countMemories(count)} changed${changing.busy ? " …" : "."}</p>`}
      <${Problem} error=${changing.error} /></form></>`;
}

function Rename({ tags: [tag], memories, onClose, onDone }) {
  const [name, setName] = useState(tag);
  const field = useRef(null);
  useEffect(() => field.current.select(), []);
  const calls = () => {
    if (!name.trim() || name.trim() === tag) throw new Error("Write another name.");
    return [{ tag, to: name.trim() }];
  };
  return html`<${Change} title=${`Rename ${tag}`} action="Rename" ...${{ calls, onClose, onDone }}
    messageOf=${(count) => `${countMemories(count)} now ${count === 1 ? "has" : "have"} the tag ${name.trim()}.`}>
    <div class="field"><label for="name">New name</label><input class="input" id="name" ref=${field}
      value=${name} autofocus
      onInput=${(event) => setName(event.target.value)} />
      <span class="help">
        ${countMemories(memories)} ${memories === 1 ? "has" : "have"} this tag. The name of an existing tag
        merges the two tags.</span></div></>`;
}

function Merge({ tags, to = tags[0], onClose, onDone }) {
  const [target, setTarget] = useState(to);
  const calls = () => tags.filter((tag) => tag !== target).map((tag) => ({ tag, to: target }));
  return html`<${Change} title=${`Merge ${tags.length} tags`} action="Merge" ...${{ calls, onClose, onDone }}
    messageOf=${(count) => `Merged into ${target}: ${countMemories(count)} changed.`}>
    <fieldset class="field plain"><legend class="label">Keep</legend>${tags.map((tag) => html`<label class="check">
      <input type="radio" name="target" checked=${tag === target}
        onChange=${() => setTarget(tag)} /> ${tag}</label>`)}</fieldset></>`;
}

const Remove = ({ tags: [tag], memories, onClose, onDone }) => html`<${Change} title=${`Delete the tag ${tag}?`}
  action="Delete the tag" kind="danger" calls=${() => [{ tag, delete: true }]} ...${{ onClose, onDone }}
  messageOf=${(count) => `Tag ${tag} removed from ${countMemories(count)}.`}>
  <p>${countMemories(memories)} ${memories === 1 ? "loses" : "lose"} this tag. The memories stay.</p></>`;

const dialogs = { rename: Rename, merge: Merge, remove: Remove };
