// The column next to a memory: tags, session, history, ratings, record.
import { html, useEffect, useLayoutEffect, useRef, useState } from "./vendor/htm-preact.js";
import { forgetLists } from "./address.js";
import { Button, Icon, Problem, Time, useChange } from "./components.js";
import { dayAndTime, momentName, rowDate } from "./dates.js";
import { formatJson } from "./exact_json.js";
import { isComposed } from "./keys.js";
import { call } from "./mcp.js";
import { TagField } from "./tag_field.js";
import { tagAddress } from "./tags.js";
import { number } from "./text.js";
import { unsavedChanges } from "./unsaved.js";

const unsaved = unsavedChanges(); // new tags

// `problem` is the element that shows why the history could not be loaded.
export function Side({ id, may, memory, history, problem }) {
  return html`<aside class="side" aria-label="About this memory">
    <${TagSection} ...${{ id, may, memory }} />
    <${Session} memory=${memory} />
    <${History} history=${history} />${problem}
    <${Ratings} ratings=${history?.ratings ?? []} isCut=${history?.more.includes("ratings")} />
    <${Record} memory=${memory} /></aside>`;
}

function TagSection({ id, may, memory }) {
  const [isAdding, setIsAdding] = useState(unsaved.has(id));
  const { tags } = memory;
  const list = useRef(null);
  const next = useRef(null); // index of the button that gets the focus when the element with the focus is removed
  const close = () => {
    next.current = Infinity;
    unsaved.delete(id);
    setIsAdding(false);
  };
  const changing = useChange("Tags", async (change, place) => {
    await call("update_memory", { id, ...change }); // the other tags may have changed in the meantime
    forgetLists(id);
    next.current = place ?? null;
    if (change.add_tags && change.add_tags === unsaved.get(id)) close(); // else the person has typed in the meantime
  });
  useLayoutEffect(() => {
    const { activeElement } = document;
    // The person has moved the focus, so a later change of the tags must not move it back.
    if (activeElement !== document.body && !list.current?.contains(activeElement)) next.current = null;
    if (next.current === null || activeElement !== document.body) return;
    const buttons = list.current.querySelectorAll("button");
    buttons[Math.min(next.current, buttons.length - 1)]?.focus();
    next.current = null;
  }, [memory, isAdding]);
  const mayChange = may.has("update_memory");
  if (!mayChange && !tags.length) return null;
  return html`<section><h2>Tags</h2><div class="tags tags-l" ref=${list}>${tags.map((tag, place) => html`<span
      class="tag" key=${tag}>
      <a href=${tagAddress(tag)} dir="auto" lang="">${tag}</a>${mayChange && html`<button aria-label=${`Remove ${tag}`}
        onClick=${() => changing.run({ remove_tags: [tag] }, place)}><${Icon} name="x" small /></button>`}</span>`)}
    ${mayChange && !isAdding && html`<button class="chip" onClick=${() => setIsAdding(true)}><${Icon}
      name="plus" />Tag</button>`}</div>
    ${isAdding && html`<${NewTags} ...${{ id, may }} busy=${changing.busy} onClose=${close}
      onSave=${(additions) => changing.run({ add_tags: additions })} />`}
    <${Problem} error=${changing.error} /></section>`;
}

function NewTags({ id, busy, may, onSave, onClose }) {
  const [tags, setTags] = useState(unsaved.get(id) ?? []);
  const field = useRef(null);
  useEffect(() => { if (!tags.length) field.current.focus(); }, []); // else the person has come back to the page
  const change = (next) => {
    setTags(next);
    if (next.length) unsaved.set(id, next);
    else unsaved.delete(id);
  };
  const onKeyDown = (event) => {
    if (event.key !== "Escape" || isComposed(event)) return;
    event.preventDefault(); // on a button, Escape would also leave the page
    onClose();
  };
  return html`<div class="stack-s" onKeyDown=${onKeyDown}><label class="sr" for="side-tags">Add tags</label>
    <${TagField} id="side-tags" tags=${tags} onChange=${change} may=${may} inputRef=${field} />
    <div class="btns"><${Button} class="btn small" busy=${busy} onClick=${() => tags.length && onSave(tags)}>Save</>
      <${Button} class="btn quiet small" onClick=${onClose}>Cancel</></div></div>`;
}

function Session({ memory }) {
  const around = memory.session_memories;
  if (!around || around.count < 2) return null;
  const item = ({ id, timestamp, title }) => html`<li key=${id}><a href=${`/memories/${id}`} dir="auto" lang="">
    ${title || "Untitled"}</a>
    <${Time} at=${timestamp} name=${rowDate} class="faint num" /></li>`;
  return html`<section><h2>In the same session</h2><ol class="around">${around.before.map(item)}
    <li class="here" aria-current="true">This memory<${Time} at=${memory.timestamp} name=${rowDate}
      class="faint num" /></li>
    ${around.after.map(item)}</ol>
    <p class="small"><a href=${`/?session=${encodeURIComponent(memory.session)}&order=oldest`}>
      All ${number(around.count)} of this session</a></p></section>`;
}

const Link = ({ memory }) => html`<a href=${`/memories/${memory.id}`} dir="auto" lang="">
    ${memory.title || "Untitled"}</a>${" "}
  <span class="faint">of <${Time} at=${memory.timestamp} name=${momentName} /></span>`;

const LISTS = {
  superseded_by: "Replaced by", supersedes: "Replaces", may_replace: "May replace", similar: "Similar:",
};

function History({ history }) {
  const items = Object.entries(LISTS).flatMap(([list, name]) => [
    ...(history?.[list] ?? []).map((memory) => ({ name, memory })),
    ...(history?.more.includes(list) ? [{ name, memory: null }] : []),
  ]);
  if (!items.length) return null;
  return html`<section><h2>History</h2><ul class="stack-s small">${items.map(({ name, memory }) => html`
    <li class="soft" key=${`${name}${memory?.id}`}>${name} ${memory ? html`<${Link} memory=${memory} />`
      : "further memories"}</li>`)}</ul></section>`;
}

const RATINGS = { 1: "It helped", 0: "Neutral", "-1": "It misled" };

function Ratings({ ratings, isCut }) {
  if (!ratings.length) return null;
  return html`<section><h2>Ratings</h2><ul class="stack-s small">
    ${ratings.map(({ rating, reason, by, rated_at: at }) => html`
    <li class="soft">${RATINGS[rating]}${reason && `: ${reason}`}${" "}
      <span class="faint">${by && `${by}, `}<${Time} at=${at} /></span></li>`)}
    ${isCut && html`<li class="soft">Earlier ratings are not shown.</li>`}</ul></section>`;
}

// The fields of a memory that the page hides until the person opens `Record`, as pairs of a name and a value.
export function recordOf(memory) {
  const { metadata } = memory;
  const rows = {
    Stored: dayAndTime(memory.created_at),
    "Stored again": memory.last_seen_at === memory.created_at ? null : dayAndTime(memory.last_seen_at),
    Quality: memory.quality.toFixed(2),
    Session: memory.session,
    Metadata: Object.keys(metadata ?? {}).length ? formatJson(metadata) : null,
    Model: memory.embedding_model,
    "SHA-256": memory.content_hash,
    Id: memory.id,
  };
  return Object.entries(rows).filter(([, value]) => value !== null && value !== undefined);
}

function Record({ memory }) {
  return html`<details class="fold"><summary><${Icon} name="right" small />Record</summary>
    <dl class="facts">${recordOf(memory).map(([name, value]) => html`<dt>${name}</dt>
      <dd class=${["Id", "SHA-256", "Metadata"].includes(name) ? "mono" : ""}>${value}</dd>`)}</dl></details>`;
}
