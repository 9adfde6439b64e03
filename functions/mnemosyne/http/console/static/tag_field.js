// A field for tags, as a combobox: Enter or a comma takes a tag, Backspace opens the last one for editing.
import { html, useRef, useState } from "./vendor/htm-preact.js";
import { Icon } from "./components.js";
import { isComposed } from "./keys.js";
import { call } from "./mcp.js";
import { formatTags, parseTags } from "./tags.js";
import { number } from "./text.js";

const MOST_OPTIONS = 8;
const WAIT_MS = 150;

const isSame = (one, other) => one.localeCompare(other, undefined, { sensitivity: "accent" }) === 0;
const hasTag = (tags, tag) => tags.some((other) => isSame(other, tag));

// Options for a text: known tags that begin with it, then the text as a new tag.
export function optionsOf(typed, known, chosen) {
  const text = typed.trim();
  const matching = known.filter(({ tag }) => tag.toLowerCase().startsWith(text.toLowerCase()) && !hasTag(chosen, tag));
  const exactFirst = matching.toSorted((one, other) => isSame(other.tag, text) - isSame(one.tag, text));
  const options = exactFirst.slice(0, MOST_OPTIONS);
  if (text && !hasTag(known.map(({ tag }) => tag), text)) options.push({ tag: text, isNew: true });
  return options;
}

// The known tags that begin with a prefix, the most used first.
async function findTags(prefix) {
  return (await call("memory_facets", { limit: MOST_OPTIONS * 2, ...(prefix && { prefix }) })).tags;
}

export function TagField({ id, tags, onChange, inputRef = null }) {
  const [typed, setTyped] = useState("");
  const [known, setKnown] = useState([]);
  const [isOpen, setIsOpen] = useState(false);
  const [index, setIndex] = useState(0);
  const timer = useRef(null);
  const options = isOpen ? optionsOf(typed, known, tags) : [];
  const look = (prefix) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => findTags(prefix.trim()).then(setKnown, () => null), WAIT_MS);
  };
  const write = (text) => {
    setTyped(text);
    setIndex(0);
    setIsOpen(true);
    look(text);
  };
  const take = (text) => {
    const taken = parseTags(text).filter((tag) => !hasTag(tags, tag));
    if (taken.length) onChange([...tags, ...taken]);
    setTyped("");
    setIsOpen(false);
  };
  const remove = (tag) => onChange(tags.filter((other) => other !== tag));
  const onKeyDown = (event) => handleKey(event, {
    typed, tags, options, index, setIndex, take, setIsOpen, isOpen,
    edit: () => {
      write(tags.at(-1));
      onChange(tags.slice(0, -1));
    },
  });
  return html`<div class="tokens">
    ${tags.map((tag) => html`<span class="tag" key=${tag}><span>${tag}</span>
      <button type="button" aria-label=${`Remove ${tag}`} onClick=${() => remove(tag)}><${Icon}
        name="x" small /></button>
    </span>`)}
    <input id=${id} ref=${inputRef} value=${typed} role="combobox" aria-expanded=${String(options.length > 0)}
      aria-controls=${`${id}-options`} aria-autocomplete="list" autocomplete="off"
      aria-activedescendant=${options.length ? `${id}-${index}` : null} onKeyDown=${onKeyDown}
      onInput=${(event) => write(event.target.value)} onFocus=${() => write(typed)}
      onBlur=${() => (typed.trim() ? take(typed) : setIsOpen(false))} />
    <ul class="options" id=${`${id}-options`} role="listbox" aria-label="Tags" hidden=${!options.length}>
      ${options.map(({ tag, memories, isNew }, place) => html`<li role="option" id=${`${id}-${place}`}
        aria-selected=${String(place === index)} onPointerDown=${(event) => {
          event.preventDefault();
          take(formatTags([tag]));
        }}>
        <span>${isNew ? `New tag “${tag}”` : tag}</span>
        ${!isNew && html`<span class="faint num">${number(memories)}</span>`}</li>`)}</ul></div>`;
}

function handleKey(event, { typed, tags, options, index, setIndex, take, setIsOpen, isOpen, edit }) {
  const { key, target } = event;
  const isSave = key === "Enter" && (event.ctrlKey || event.metaKey) && typed.trim();
  if (isComposed(event) || ((event.ctrlKey || event.metaKey) && !isSave)) return;
  if (key === "ArrowDown" || key === "ArrowUp") {
    const step = key === "ArrowDown" ? 1 : -1;
    if (options.length) setIndex((index + step + options.length) % options.length);
  } else if (isSave) {
    take(typed);
    setTimeout(() => target.dispatchEvent(new KeyboardEvent("keydown", event))); // when the form has the tag
  } else if ((key === "Enter" || key === ",") && typed.trim()) {
    const isQuoted = typed.trimStart().startsWith('"') && !/"\s*$/u.test(typed.trimStart().slice(1));
    if (key === "," && isQuoted) return;
    const option = options[index];
    const isChosen = key === "Enter" && option && !option.isNew;
    take(isChosen ? formatTags([option.tag]) : typed);
  } else if (key === "Backspace" && !typed && tags.length) edit();
  else if (key === "Escape" && isOpen && options.length) setIsOpen(false);
  else return;
  event.preventDefault();
  event.stopPropagation();
}
