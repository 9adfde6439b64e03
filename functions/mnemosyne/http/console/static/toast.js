// One message at a time at the foot of the page, with an action such as Undo.
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { useKeys } from "./keys.js";
import { observable, useValue } from "./observable.js";

const SECONDS = 10;

const current = observable(null);

export const isToastShown = () => current.get() !== null;

// Remove the message without calling `onAction` or `onEnd`.
export const clearToast = () => current.set(null);

// Show a message for ten seconds, and return a function that ends it. If the person presses its button, `onAction` is
// called; otherwise `onEnd` is called when the message disappears.
export function showToast(text, { action = "Undo", onAction = null, onEnd = () => {} } = {}) {
  current.get()?.end();
  const toast = { text, action, onAction };
  const close = (then) => {
    if (current.get() !== toast) return;
    current.set(null);
    then?.();
  };
  toast.end = () => close(onEnd);
  toast.act = () => close(onAction);
  current.set(toast);
  return toast.end;
}

export function Toast() {
  const toast = useValue(current);
  const [isHeld, setIsHeld] = useState(false);
  const left = useRef(0); // remaining milliseconds
  useEffect(() => {
    left.current = SECONDS * 1000;
    setIsHeld((before) => before && Boolean(toast?.onAction)); // the button may have kept the focus
  }, [toast]);
  useEffect(() => {
    if (!toast || isHeld) return undefined;
    const start = performance.now();
    const timer = setTimeout(toast.end, left.current || SECONDS * 1000);
    return () => {
      clearTimeout(timer);
      left.current = Math.max(1000, left.current - (performance.now() - start));
    };
  }, [toast, isHeld]);
  useKeys({ z: () => (toast?.onAction && toast.action === "Undo" ? toast.act() : false) });
  if (!toast) return null;
  const hold = () => setIsHeld(true);
  const release = () => setIsHeld(false);
  // Preact converts only the names of events to lower case that have a property, such as `onclick`.
  return html`<div class="toast" onPointerEnter=${hold} onPointerLeave=${release} onfocusin=${hold}
    onfocusout=${release}>
    <span>${toast.text}</span>
    ${toast.onAction && html`<button onClick=${toast.act}>${toast.action}</button>`}</div>`;
}
