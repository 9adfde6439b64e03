// A field for tags, as a combobox: Enter or a comma takes a tag, Backspace opens the last one for editing.
import { html, useRef, useState } from "./vendor/htm-preact.js";
import { Icon } from "./components.js";
import { isComposed } from "./keys.js";
import { call } from "./mcp.js";
import { formatTags, parseTags } from "./tags.js";
import { fold, number } from "./text.js";

const MOST_OPTIONS = 8;
const LIMIT = 2 * MOST_OPTIONS; // maximum tags in an answer; some of them may be in the field already
const WAIT_MS = 150;

const isSame = (one, other) => fold(one.trim()) === fold(other.trim());
const hasTag = (tags, tag) => tags.some((other) => isSame(other, tag));

const NONE = { prefix: null, tags: [] };

// Options for a text: stored tags that begin with it, then the text as another tag. `suggestions` is the server's
// answer to a prefix, and `fieldTags` has the tags in the field. The text is a new tag (`isNew`) if the answer has all
// stored tags that begin with the text.
export function optionsOf(input, suggestions, fieldTags) {
  const text = input.trim();
  const { prefix, tags } = suggestions;
  const isOffered = ({ tag }) => fold(tag).startsWith(fold(text)) && !hasTag(fieldTags, tag);
  const matching = tags.filter(isOffered);
  const exactFirst = matching.toSorted((one, other) => isSame(other.tag, text) - isSame(one.tag, text));
  const options = exactFirst.slice(0, MOST_OPTIONS);
  const isNew = prefix === text && tags.length < LIMIT;
  if (text && !hasTag(tags.map(({ tag }) => tag), text)) options.push({ tag: text, isNew });
  return options;
}

// The stored tags that begin with a prefix, the most used first.
const findTags = async (prefix) =>
  ({ prefix, tags: (await call("memory_facets", { limit: LIMIT, ...(prefix && { prefix }) })).tags });

// The server's answer to the latest prefix, and a function that asks for another one. Nothing is suggested if the call
// fails, or if the caller has no right to it.
function useSuggestions(may) {
  const [suggestions, setSuggestions] = useState(NONE);
  const timer = useRef(null);
  const look = (prefix) => {
    clearTimeout(timer.current);
    if (!may.has("memory_facets")) return;
    const latest = setTimeout(() => findTags(prefix).then((answer) => {
      if (timer.current === latest) setSuggestions(answer); // answers may arrive in another order than their requests
    }, () => null), WAIT_MS);
    timer.current = latest;
  };
  return [suggestions, look];
}

// With `autofocus`, the field has the focus when its dialog opens. The options appear only when the person types or
// clicks, because they would cover the rest of the dialog.
export function TagField({ id, tags, onChange, may, inputRef = null, autofocus = false }) {
  const [text, setText] = useState("");
  const [suggestions, look] = useSuggestions(may);
  const [isOpen, setIsOpen] = useState(false);
  const [index, setIndex] = useState(0);
  const options = isOpen ? optionsOf(text, suggestions, tags) : [];
  const write = (input) => {
    setText(input);
    setIndex(0);
    setIsOpen(true);
    look(input.trim());
  };
  const take = (input) => {
    const additions = parseTags(input).filter((tag) => !hasTag(tags, tag));
    if (additions.length) onChange([...tags, ...additions]);
    setText("");
    setIsOpen(false);
  };
  const remove = (tag) => onChange(tags.filter((other) => other !== tag));
  const onKeyDown = (event) => handleKey(event, {
    text, tags, options, index, setIndex, take, setIsOpen, isOpen, open: () => write(text),
    edit: () => {
      write(tags.at(-1));
      onChange(tags.slice(0, -1));
    },
  });
  return html`<div class="tokens">
    ${tags.map((tag) => html`<span class="tag" key=${tag}><span dir="auto" lang="">${tag}</span>
      <button type="button" aria-label=${`Remove ${tag}`} onClick=${() => remove(tag)}><${Icon}
        name="x" small /></button>
    </span>`)}
    <input id=${id} ref=${inputRef} value=${text} autofocus=${autofocus} role="combobox"
      aria-expanded=${String(options.length > 0)}
      aria-controls=${`${id}-options`} aria-autocomplete="list" autocomplete="off"
      aria-activedescendant=${options.length ? `${id}-${index}` : null} onKeyDown=${onKeyDown}
      onInput=${(event) => write(event.target.value)} onFocus=${() => autofocus || write(text)}
      onClick=${() => isOpen || write(text)}
      onBlur=${() => (text.trim() ? take(text) : setIsOpen(false))} />
    <ul class="options" id=${`${id}-options`} role="listbox" aria-label="Tags" hidden=${!options.length}>
      ${options.map(({ tag, memories, isNew = false }, place) => html`<li role="option" id=${`${id}-${place}`}
        aria-selected=${String(place === index)} onPointerDown=${(event) => {
          event.preventDefault();
          take(formatTags([tag]));
        }}>
        <span>${isNew ? `New tag “${tag}”` : tag}</span>
        ${memories !== undefined && html`<span class="faint num">${number(memories)}</span>`}</li>`)}</ul></div>`;
}

function handleKey(event, { text, tags, options, index, setIndex, take, setIsOpen, isOpen, open, edit }) {
  const { key, target } = event;
  const isSave = key === "Enter" && (event.ctrlKey || event.metaKey) && text.trim();
  if (isComposed(event) && key === "Enter") event.preventDefault(); // the browser would submit the form
  if (isComposed(event) || ((event.ctrlKey || event.metaKey) && !isSave)) return;
  if (key === "ArrowDown" || key === "ArrowUp") {
    const step = key === "ArrowDown" ? 1 : -1;
    if (options.length) setIndex((index + step + options.length) % options.length);
    else open();
  } else if (isSave) {
    take(text);
    setTimeout(() => target.dispatchEvent(new KeyboardEvent("keydown", event))); // after the form has got the tag
  } else if ((key === "Enter" || key === ",") && text.trim()) {
    const isQuoted = text.trimStart().startsWith('"') && !/"\s*$/u.test(text.trimStart().slice(1));
    if (key === "," && isQuoted) return;
    const option = options[index];
    const isStored = key === "Enter" && option?.memories !== undefined;
    take(isStored ? formatTags([option.tag]) : text);
  } else if (key === "Backspace" && !text && tags.length) edit();
  else if (key === "Escape" && isOpen && options.length) setIsOpen(false);
  else return;
  event.preventDefault();
  event.stopPropagation();
}
