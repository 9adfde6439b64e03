// Keyboard shortcuts. Single keys do nothing while a person types, and can be turned off (WCAG 2.1.4).
import { useEffect, useRef } from "./vendor/htm-preact.js";
import { hasSingleKeys } from "./preferences.js";

const TYPING = "input:not([type=checkbox], [type=radio], [type=file]), textarea, select, [contenteditable]";

// Bindings of the mounted components; later ones come first.
const layers = [];

// A keyboard with Cyrillic, Greek, Hebrew or Arabic letters also has Latin ones, which `code` names.
const latin = (key, code) => (/^[^\0-\x7f]$/u.test(key) && /^Key(.)$/.exec(code)?.[1].toLowerCase()) || key;

// Name of a pressed key: "j", "Shift+x", "Ctrl+k", "?", "Delete".
export function keyName({ key: pressed, code, ctrlKey, metaKey, altKey, shiftKey }) {
  const key = latin(pressed, code);
  const isLetter = key.length === 1 && key.toLowerCase() !== key.toUpperCase();
  const name = isLetter ? key.toLowerCase() : key;
  if (altKey) return `Alt+${name}`;
  if (ctrlKey || metaKey) return `Ctrl+${name}`;
  return shiftKey && (isLetter || key.length > 1) ? `Shift+${name}` : name;
}

const isSingleKey = (name) => name.replace("Shift+", "").length === 1;

// Whether a shortcut applies where the focus is.
export function applies(name, { isTyping, isInDialog, singleKeys }) {
  if (isInDialog) return false;
  if (name.startsWith("Ctrl+")) return true;
  if (isTyping) return false;
  return singleKeys || !isSingleKey(name);
}

// Whether a key belongs to an input method that composes letters. Safari tells this only by the code 229 for the key
// that ends a composition.
export const isComposed = ({ isComposing, keyCode }) => isComposing || keyCode === 229;

function onKeyDown(event) {
  if (event.defaultPrevented || isComposed(event)) return;
  const name = keyName(event);
  const isTyping = Boolean(event.target.closest?.(TYPING));
  const isInDialog = Boolean(document.querySelector("dialog[open]"));
  if (!applies(name, { isTyping, isInDialog, singleKeys: hasSingleKeys.get() })) return;
  for (const { current: bindings } of layers.toReversed()) {
    if (!bindings[name] || bindings[name](event) === false) continue;
    event.preventDefault();
    return;
  }
}

// Listen to the keyboard while `isOn` is true; the application calls this once.
export function useKeyboard(isOn) {
  useEffect(() => {
    if (!isOn) return undefined;
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, [isOn]);
}

// Shortcuts of a component: functions by key name. A function that returns false leaves the key to others.
export function useKeys(bindings) {
  const layer = useRef(bindings);
  layer.current = bindings;
  useEffect(() => {
    layers.push(layer);
    return () => layers.splice(layers.indexOf(layer), 1);
  }, []);
}
