// Keyboard shortcuts. Single keys do nothing while a person types, and can be turned off (WCAG 2.1.4).
import { useLayoutEffect, useRef } from "./vendor/htm-preact.js";
import { hasSingleKeys } from "./preferences.js";

const TYPING = "input:not([type=checkbox], [type=radio], [type=file]), textarea, select, [contenteditable]";

// Shortcuts of the mounted components. The shortcuts of the component that was mounted last take precedence.
const layers = [];

// The Latin letter on a pressed key. A key with a Cyrillic, Greek, Hebrew or Arabic letter also has a Latin letter,
// which `code` contains.
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

// Whether a shortcut works at the present focus, for example in a text field or a dialog.
export function applies(name, { isTyping, isInDialog, singleKeys }) {
  if (isInDialog) return false;
  if (name.startsWith("Ctrl+")) return true;
  if (isTyping) return false;
  return singleKeys || !isSingleKey(name);
}

// Whether a key press belongs to an input method that composes characters, for example for Japanese. In Safari, the key
// that ends a composition can be recognised only by the code 229.
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
  useLayoutEffect(() => {
    if (!isOn) return undefined;
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, [isOn]);
}

// Add the shortcuts of a component: functions by the name of the key. If a function returns false, the shortcut of
// another component or the browser handles the key. A layout effect adds the shortcuts before the component is visible.
// With useEffect, a key that a person presses at once would do nothing.
export function useKeys(bindings) {
  const layer = useRef(bindings);
  layer.current = bindings;
  useLayoutEffect(() => {
    layers.push(layer);
    return () => layers.splice(layers.indexOf(layer), 1);
  }, []);
}
