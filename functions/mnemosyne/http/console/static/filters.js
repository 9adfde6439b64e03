// Filters of the page Memories, as chips. The chip of an active filter removes the filter; the other chips open a
// dialog.
import { html, useState } from "./vendor/htm-preact.js";
import { go } from "./address.js";
import { Button, Dialog, Icon, LoadProblem } from "./components.js";
import { windowName } from "./dates.js";
import { addressOf, hasFilter, MODES, QUALITY, toggleTag, withoutFilters } from "./search_form.js";
import { parseTags } from "./tags.js";
import { fold, number } from "./text.js";

export const FACETS = 100; // maximum tags, and maximum sessions, that are loaded
const WORDS = ["today", "yesterday", "last 7 days", "this month", "last month", "this year", "last year"];
const apply = (form) => go(addressOf(form));

function Chip({ icon, name, isOn = false, onClick }) {
  if (isOn) {
    return html`<button class="chip on" onClick=${onClick}>${name}<${Icon} name="x" />
      <span class="sr">, remove this filter</span></button>`;
  }
  return html`<button class="chip" aria-haspopup="dialog" onClick=${onClick}>${icon && html`<${Icon} name=${icon} />`}
    ${name}<${Icon} name="down" /></button>`;
}

const hasTime = ({ time, after, before }) => Boolean(time || after || before);

// The text on the chip of the time filter. At first, the text has the words of the person, such as "last week". When
// the server has answered, the text has the dates that the server derived from these words.
function timeName({ time, after, before }, times) {
  if (times) return windowName(times);
  return time || windowName({ after, before });
}

// `counting` loads the tags and sessions of the memories that match the filters. `times` is the period that the server
// has derived from the time filter.
export function Filters({ form, counting, times }) {
  const [open, setOpen] = useState("");
  const close = () => setOpen("");
  const choose = (next) => {
    close();
    apply(next);
  };
  const tags = parseTags(form.tags);
  const dialogs = { time: TimeDialog, tag: TagsDialog, session: SessionDialog, more: MoreDialog };
  const isMore = form.mode !== "hybrid" || form.quality || form.old;
  const noTime = { ...form, time: "", after: "", before: "" };
  return html`<div class="filters" role="group" aria-label="Filters">
    <${Chip} icon="clock" name=${hasTime(form) ? timeName(form, times) : "Any time"} isOn=${hasTime(form)}
      onClick=${() => (hasTime(form) ? apply(noTime) : setOpen("time"))} />
    ${tags.map((tag) => html`<${Chip} name=${tag} isOn onClick=${() => apply(toggleTag(form, tag))} />`)}
    <${Chip} icon="tag" name=${tags.length ? "Or another tag" : "Any tag"} onClick=${() => setOpen("tag")} />
    <${Chip} icon="thread" name=${form.session ? `Session ${form.session}` : "Any session"}
      isOn=${Boolean(form.session)}
      onClick=${() => (form.session ? apply({ ...form, session: "" }) : setOpen("session"))} />
    ${form.old && html`<${Chip} name="With replaced memories" isOn onClick=${() => apply({ ...form, old: "" })} />`}
    ${form.query && form.mode !== "hybrid" && html`<${Chip} name=${MODES[form.mode] ?? form.mode} isOn
      onClick=${() => apply({ ...form, mode: "hybrid" })} />`}
    <${Chip} name="More filters" onClick=${() => setOpen("more")} />
    ${(hasFilter(form) || isMore) && html`<button class="chip" onClick=${() =>
      apply({ ...withoutFilters(form), mode: "hybrid", quality: "" })}>Clear all</button>`}
    ${dialogs[open] && html`<${dialogs[open]} ...${{ form, counting, choose }} onClose=${close} />`}</div>`;
}

const submitting = (action) => (event) => {
  event.preventDefault();
  action();
};

function TimeDialog({ form, choose, onClose }) {
  const [values, setValues] = useState({ time: form.time, after: form.after, before: form.before });
  const change = (name) => (event) => setValues({ ...values, [name]: event.target.value });
  const use = submitting(() => choose({ ...form, ...values }));
  const words = (text) => html`<button class="chip" type="button"
    onClick=${() => choose({ ...form, time: text, after: "", before: "" })}>${text}</button>`;
  return html`<${Dialog} title="When" onClose=${onClose}><form class="stack" onSubmit=${use}>
    <div class="btns" role="group" aria-label="Common times">${WORDS.map(words)}</div>
    <div class="field"><label for="time">In words</label>
      <input class="input" id="time" value=${values.time} placeholder="between March and May"
        onInput=${change("time")} /></div>
    <div class="cols">
      <div class="field"><label for="after">From</label>
        <input class="input" id="after" type="date" value=${values.after.slice(0, 10)}
          onInput=${change("after")} /></div>
      <div class="field"><label for="before">To</label>
        <input class="input" id="before" type="date" value=${values.before.slice(0, 10)}
          onInput=${change("before")} /></div>
    </div>
    <div class="btns"><${Button} class="btn main" type="submit">Apply</></div></form></>`;
}

// The name that Enter chooses: the typed text, because a name may be missing in the list. A listed name is chosen if it
// equals the text except for case, or if the list is whole and no other name begins with the text.
export function choiceOf(input, names, isWhole) {
  const text = input.trim();
  if (!text || names.includes(text)) return text;
  const matches = names.filter((name) => fold(name).startsWith(fold(text)));
  const same = matches.filter((name) => fold(name) === fold(text));
  const [choice, ...others] = same.length || !isWhole ? same : matches;
  return choice && !others.length ? choice : text;
}

// A list of options, and a field that filters the list.
function Choices({ label, options, counting, onChoose }) {
  const [text, setText] = useState("");
  const matches = options.filter(({ name }) => fold(name).includes(fold(text.trim())));
  const isWhole = options.length < FACETS && counting.done?.complete === true;
  const choice = choiceOf(text, options.map(({ name }) => name), isWhole);
  const use = submitting(() => choice && onChoose(choice));
  return html`<form class="stack" onSubmit=${use}>
    <input class="input" aria-label=${label} placeholder=${label} value=${text} autofocus
      onInput=${(event) => setText(event.target.value)} />
    <ul class="facet choices">${matches.map(({ name, count, isOn }) => html`<li>
      <button type="button" aria-pressed=${String(Boolean(isOn))} onClick=${() => onChoose(name)}><span>${name}</span>
        <span class="num">${number(count)}</span></button></li>`)}</ul>
    <${LoadProblem} error=${counting.error} onRetry=${counting.run} />
    ${(choice || !matches.length) && html`<p class="help">
      ${!matches.length && (options.length ? "None in this list." : counting.done && "None yet.")}
      ${choice && ` Press Enter to filter by “${choice}”.`}</p>`}</form>`;
}

function TagsDialog({ form, counting, choose, onClose }) {
  const on = parseTags(form.tags);
  const options = (counting.done?.tags ?? [])
    .map(({ tag, memories }) => ({ name: tag, count: memories, isOn: on.includes(tag) }));
  return html`<${Dialog} title="Tag" onClose=${onClose}>
    <${Choices} label="Find a tag" ...${{ options, counting }} onChoose=${(tag) => choose(toggleTag(form, tag))} /></>`;
}

function SessionDialog({ form, counting, choose, onClose }) {
  const options = (counting.done?.sessions ?? []).map(({ session, memories }) => ({ name: session, count: memories }));
  return html`<${Dialog} title="Session" onClose=${onClose}>
    <${Choices} label="Name of a session" ...${{ options, counting }}
      onChoose=${(session) => choose({ ...form, session })} /></>`;
}

function MoreDialog({ form, choose, onClose }) {
  const [values, setValues] = useState({ mode: form.mode, quality: form.quality, old: form.old });
  const change = (name) => (event) => setValues({ ...values, [name]: event.target.value });
  const setOld = (event) => setValues({ ...values, old: event.target.checked ? "yes" : "" });
  const option = ([value, name]) => html`<option value=${value}>${name}</option>`;
  const use = submitting(() => choose({ ...form, ...values }));
  return html`<${Dialog} title="More filters" onClose=${onClose}><form class="stack" onSubmit=${use}>
    <label class="check"><input type="checkbox" checked=${values.old === "yes"} onChange=${setOld} />
      ${" "}Include replaced memories</label>
    <div class="cols">
      <div class="field"><label for="mode">Search by</label><select class="input" id="mode" value=${values.mode}
        onChange=${change("mode")}>${Object.entries(MODES).map(option)}</select></div>
      <div class="field"><label for="quality">Weight of quality</label><select class="input" id="quality"
        value=${values.quality} onChange=${change("quality")}>${QUALITY.map(option)}</select></div></div>
    <p class="help">Both choices apply to searches with a query.</p>
    <div class="btns"><${Button} class="btn main" type="submit">Apply</></div></form></>`;
}
