// Values that all components share. A component is rendered again when a value that it uses changes.
import { useLayoutEffect, useState } from "./vendor/htm-preact.js";

export function observable(initial) {
  const state = { value: initial };
  const listeners = new Set();
  return {
    get: () => state.value,
    set(value) {
      state.value = value;
      for (const listener of [...listeners]) listener(value);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

// Use the value of an observable in a component. When the value changes, the component is rendered again.
export function useValue(source) {
  const [, setValue] = useState(source.get);
  useLayoutEffect(() => {
    setValue(source.get); // it may have changed since the first rendering
    return source.subscribe((value) => setValue(() => value));
  }, [source]);
  return source.get();
}
