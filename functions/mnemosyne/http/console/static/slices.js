// Long lists: a frame renders at most SLICE more rows, and unchanged rows are not rendered again.
import { useEffect, useRef, useState } from "./vendor/htm-preact.js";

export const SLICE = 50;

// The number of rows to render now, of `count`. It grows by SLICE with each frame.
export function useSlices(count) {
  const [rendered, setRendered] = useState(0);
  const now = Math.min(count, rendered + SLICE);
  useEffect(() => {
    if (now === rendered) return undefined;
    const frame = requestAnimationFrame(() => setRendered(now));
    return () => cancelAnimationFrame(frame);
  }, [now, rendered]);
  return now;
}

// Make a function that returns the element of an item, and the same element again while the item and its state are the
// same objects. Preact does not compare an element with itself. A new day makes new elements, because their dates are
// relative.
export function useElements(make) {
  const cache = useRef({ day: "", elements: new WeakMap() });
  const day = new Date().toDateString();
  if (cache.current.day !== day) cache.current = { day, elements: new WeakMap() };
  const { elements } = cache.current;
  return (item, state) => {
    const known = elements.get(item);
    if (known?.state === state) return known.element;
    const element = make(item, state);
    elements.set(item, { state, element });
    return element;
  };
}
