// Render long lists quickly: in each frame, at most SLICE more rows are rendered, and unchanged rows are not rendered
// again.
import { useEffect, useRef, useState } from "./vendor/htm-preact.js";

export const SLICE = 50;
const MOST_PART = 24; // maximum rows of a part, which is laid out within one frame

// The number of rows to render now. It grows by SLICE with each frame, up to `count`, the number of all rows.
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

// Make a function that returns the element of an item. While the item and its state are the same objects, the function
// returns the same element, so Preact does not render the element again. On a new day, all elements are made again,
// because they show dates such as "Today".
export function useElements(make) {
  const cache = useRef({ day: "", elements: new WeakMap() });
  const day = new Date().toDateString();
  if (cache.current.day !== day) cache.current = { day, elements: new WeakMap() };
  const { elements } = cache.current;
  return (item, state) => {
    const entry = elements.get(item);
    if (entry?.state === state) return entry.element;
    const element = make(item, state);
    elements.set(item, { state, element });
    return element;
  };
}

// Divide a list into parts for the CSS property `content-visibility`. The browser skips each part that is outside the
// window, so a frame takes no longer when the list grows. `keys` maps the id of each item to its part. An item stays
// in its part. Otherwise its row would be created again and lose the focus.
export function partsOf(items, keys) {
  const hasKey = ({ id }) => keys.has(id);
  const counts = new Map();
  const count = (key) => counts.set(key, (counts.get(key) ?? 0) + 1);
  for (const item of items.filter(hasKey)) count(keys.get(item.id));
  const [first, last] = [items.findIndex(hasKey), items.findLastIndex(hasKey)];
  const top = keys.get(items[first]?.id);
  const isRoom = counts.get(top) + first <= MOST_PART; // whether the new items above fit
  const parts = [];
  items.forEach((item, index) => {
    const key = parts.at(-1)?.key ?? (isRoom ? top : undefined);
    const isWithin = first < index && index < last;
    if (!hasKey(item)) {
      const joined = key !== undefined && (isWithin || counts.get(key) < MOST_PART) ? key : item.id;
      keys.set(item.id, joined);
      count(joined);
    }
    if (keys.get(item.id) !== parts.at(-1)?.key) parts.push({ key: keys.get(item.id), items: [] });
    parts.at(-1).items.push(item);
  });
  return parts;
}

// Make a function that divides a list into parts, and keeps each item in its part.
export function useParts() {
  const keys = useRef(new Map());
  return (items) => partsOf(items, keys.current);
}
