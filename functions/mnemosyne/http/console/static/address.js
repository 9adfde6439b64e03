// Navigation within the page, and the lists and scroll positions to restore when the person goes back.
import { useEffect, useState } from "./vendor/htm-preact.js";

const WAIT_MS = 3000;
const MOST_LISTS = 10;

// `lists` has the items of lists by address and name.
const navigation = { isBack: false, onChange: () => {}, lists: new Map() };

// Go to an address of the console. The current address is loaded again.
export function go(address) {
  navigation.isBack = false;
  history.replaceState({ y: scrollY, height: height() }, "");
  const isSame = new URL(address, location.href).href === location.href;
  if (!isSame) history.pushState(null, "", address);
  navigation.onChange(isSame);
}

// The saved list, if the person has gone back to it.
export const savedList = (name) => (navigation.isBack ? navigation.lists.get(name) : undefined);

export function saveList(name, list) {
  const { lists } = navigation;
  lists.delete(name);
  lists.set(name, list);
  if (lists.size > MOST_LISTS) lists.delete(lists.keys().next().value);
}

// Call this after a change, so that no list shows the state before it.
export const forgetLists = () => navigation.lists.clear();

const height = () => document.documentElement.scrollHeight;

// Scroll back as soon as the page is as high as before, unless the person scrolls in the meantime.
function scrollBack({ y, height: before }) {
  const deadline = performance.now() + WAIT_MS;
  const stop = new AbortController();
  for (const name of ["wheel", "keydown", "pointerdown"]) {
    addEventListener(name, () => stop.abort(), { signal: stop.signal });
  }
  const look = () => {
    if (stop.signal.aborted) return;
    scrollTo(0, y);
    if (height() >= before || performance.now() > deadline) stop.abort();
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}

// Whether a click on a link leads to another address of the console in this tab.
const isPlainClick = ({ defaultPrevented, button, ctrlKey, metaKey, shiftKey }) =>
  !(defaultPrevented || button || ctrlKey || metaKey || shiftKey);

function follow(event) {
  const link = event.target.closest?.("a[href^='/']");
  if (!link || !isPlainClick(event)) return;
  event.preventDefault();
  go(link.getAttribute("href"));
  scrollTo(0, 0);
}

// The address, and how often it was loaded again. Links within the console load no other document.
export function useAddress() {
  const [current, setCurrent] = useState({ href: location.href, times: 0 });
  useEffect(() => {
    history.scrollRestoration = "manual"; // the browser would scroll before the page is high enough
    navigation.onChange = (isSame = false) =>
      setCurrent((before) => ({ href: location.href, times: before.times + (isSame ? 1 : 0) }));
    const onPopState = ({ isTrusted, state }) => {
      navigation.isBack = isTrusted;
      navigation.onChange();
      scrollBack(state ?? { y: 0, height: 0 });
    };
    addEventListener("popstate", onPopState);
    document.addEventListener("click", follow);
    return () => {
      removeEventListener("popstate", onPopState);
      document.removeEventListener("click", follow);
    };
  }, []);
  return { address: new URL(current.href), times: current.times };
}
