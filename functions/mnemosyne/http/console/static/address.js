// Where the person is: the address, how they came there, and what was on the pages that they may come back to.
import { useEffect, useState } from "./vendor/htm-preact.js";

const WAIT_MS = 3000;
const MOST_KEPT = 10;

let isBack = false;
let changed = () => {};
const kept = new Map(); // by address and name: what a list had shown

history.scrollRestoration = "manual"; // a page that is still asking for what it shows is not long enough yet

// Go to an address of this page; to the one that is shown already, to have it anew.
export function go(address) {
  isBack = false;
  history.replaceState({ y: scrollY, height: height() }, "");
  const isSame = new URL(address, location.href).href === location.href;
  if (!isSame) history.pushState(null, "", address);
  changed(isSame);
}

// The list of an address that the person has come back to, if it is kept.
export const keptList = (which) => (isBack ? kept.get(which) : undefined);

export function keepList(which, list) {
  kept.delete(which);
  kept.set(which, list);
  if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value);
}

// Something was changed: lists are asked for anew.
export const forgetLists = () => kept.clear();

const height = () => document.documentElement.scrollHeight;

// Scroll to where the person was until the page is as high again; not against one who scrolls meanwhile.
function scrollBack({ y, height: before }) {
  const until = performance.now() + WAIT_MS;
  const stop = new AbortController();
  for (const name of ["wheel", "keydown", "pointerdown"]) addEventListener(name, () => stop.abort(), { signal: stop.signal });
  const look = () => {
    if (stop.signal.aborted) return;
    scrollTo(0, y);
    if (height() >= before || performance.now() > until) stop.abort();
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}

// The address, and how often it was asked for anew. A link within the page is followed without another being loaded.
export function useAddress() {
  const [shown, setShown] = useState({ href: location.href, times: 0 });
  useEffect(() => {
    changed = (isSame = false) => setShown((before) => ({ href: location.href, times: before.times + (isSame ? 1 : 0) }));
    const moved = ({ isTrusted, state }) => {
      isBack = isTrusted;
      changed();
      scrollBack(state ?? { y: 0, height: 0 });
    };
    const follow = (event) => {
      const link = event.target.closest?.("a[href^='/']");
      if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      go(link.getAttribute("href"));
      scrollTo(0, 0);
    };
    addEventListener("popstate", moved);
    document.addEventListener("click", follow);
    return () => {
      removeEventListener("popstate", moved);
      document.removeEventListener("click", follow);
    };
  }, []);
  return { address: new URL(shown.href), times: shown.times };
}
