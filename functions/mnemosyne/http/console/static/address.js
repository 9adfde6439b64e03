// Navigation within the console without loading a document. When the person goes back, the list, the scroll position
// and the focus are restored.
import { useLayoutEffect, useState } from "./vendor/htm-preact.js";
import { observable } from "./observable.js";

const WAIT_MS = 10_000;
const MOST_LISTS = 10;

// The state of the navigation. Some of its fields:
//   hasPages  whether the person has opened another page of the console before this one
//   lists     the loaded items of lists, by address and name
//   results   the list from which a memory was opened
const navigation = { isBack: false, hasPages: false, onChange: () => {}, lists: new Map(), results: null };

const height = () => document.documentElement.scrollHeight;
const place = (link = null) => ({ ...history.state, y: scrollY, height: height(), link });

// Go to an address of the console. If the page already has this address, the page is loaded again. If `isReplaced` is
// true, the new address takes the place of the current one in the browser's history.
export function go(address, { isReplaced = false, link = null } = {}) {
  navigation.isBack = false;
  const isSame = new URL(address, location.href).href === location.href;
  if (isReplaced) history.replaceState({ y: 0, height: 0, link: null, from: history.state?.from }, "", address);
  else {
    history.replaceState(place(link), "");
    if (!isSame) {
      history.pushState({ y: 0, height: 0, link: null, from: location.href }, "", address);
      navigation.hasPages = true;
    }
  }
  navigation.onChange(isSame);
}

// Go to the page above this one, for example from a memory to its list. If the person came from that page, go back in
// the history, which restores the scroll position.
export function goUp(address, options) {
  if (history.state?.from === new URL(address, location.href).href) history.back();
  else go(address, options);
}

// Go back, but stay in the console, because another site in the history would end the log-in.
export const goBack = () => (navigation.hasPages ? history.back() : go("/"));

// Replace the address of the current page in the browser's history, without loading the new address.
export const renameAddress = (address) => history.replaceState(history.state, "", address);

// Record in the browser's history that the parameters of the current address were used. Return true if they had been
// used before, which means that the person has gone back to this page.
export function markRead() {
  const { isRead = false } = history.state ?? {};
  keep({ isRead: true });
  return isRead;
}

const keep = (values) => history.replaceState({ y: 0, height: 0, link: null, ...history.state, ...values }, "");

// A state variable whose value is kept in the browser's history, so that going back restores the value.
export function useKept(name, initial) {
  const [value, setValue] = useState(history.state?.[name] ?? initial);
  const change = (next) => {
    keep({ [name]: next });
    setValue(next);
  };
  return [value, change];
}

// The saved list, if the person has gone back to it.
export const savedList = (name) => (navigation.isBack ? navigation.lists.get(name) : undefined);

export function saveList(name, list) {
  const { lists } = navigation;
  lists.delete(name);
  lists.set(name, list);
  if (lists.size > MOST_LISTS) lists.delete(lists.keys().next().value);
}

// Number of changes of memories in this tab. After each change, components load their counts of memories again.
export const changes = observable(0);
export const tellChange = () => changes.set(changes.get() + 1);

// The latest change of memories in this tab: `ids` are the ids of the memories, or null if any memory may have changed.
// The page of such a memory loads it again, because the person may have opened the page before the change was made.
export const latestChange = observable({ ids: [] });

// Call this after a change, so that no list and no page of a memory shows the state before it. `ids` are the ids of the
// memories whose labels or successor were changed.
export function forgetLists(...ids) {
  navigation.lists.clear();
  tellChange();
  if (ids.length) latestChange.set({ ids });
}

// The same after a change of memories whose ids are unknown.
export function forgetMemories() {
  forgetLists();
  latestChange.set({ ids: null });
}

// The list from which a memory was opened: its address, name and ids. The keys j and k open the next and the previous
// memory of this list.
export const setResults = (results) => { navigation.results = results; };
export const results = () => navigation.results;

// Forget the lists and the search of a person before another person logs in.
export function forgetPerson() {
  forgetLists();
  navigation.results = null;
  history.replaceState(null, "", location.pathname);
  navigation.onChange();
}

const linkTo = (address) => document.querySelector(`main a[href="${address.replace(/["\\]/gu, "\\$&")}"]`);

// After the person has gone back, restore the scroll position, and focus the link that the person had followed. Wait
// until the page is as high as before. Do nothing if the person scrolls in the meantime.
function scrollBack({ y, height: before, link }) {
  const deadline = performance.now() + WAIT_MS;
  const stop = new AbortController();
  for (const name of ["wheel", "keydown", "pointerdown"]) {
    addEventListener(name, () => stop.abort(), { signal: stop.signal });
  }
  const look = () => {
    if (stop.signal.aborted) return;
    // Scroll only once, when the page is high enough. A long list grows with each frame, and scrolling in each frame
    // would make the browser lay out rows that are not visible in the end.
    if (height() >= before || performance.now() > deadline) {
      scrollTo(0, y);
      stop.abort();
      if (link) linkTo(link)?.focus({ preventScroll: true });
    } else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}

// Whether a click opens a link in this tab: a click with the main mouse button and without a key such as Ctrl.
const isPlainClick = ({ defaultPrevented, button, ctrlKey, metaKey, shiftKey }) =>
  !(defaultPrevented || button || ctrlKey || metaKey || shiftKey);

function follow(event) {
  const link = event.target.closest?.("a[href^='/']");
  if (!link || !isPlainClick(event)) return;
  event.preventDefault();
  const address = link.getAttribute("href");
  if ("up" in link.dataset) goUp(address);
  else go(address, { link: address });
  scrollTo(0, 0);
}

// The current address, and how often it was loaded again. A click on a link within the console changes only the
// address; the browser loads no other document.
export function useAddress() {
  const [current, setCurrent] = useState({ href: location.href, times: 0 });
  useLayoutEffect(() => {
    history.scrollRestoration = "manual"; // the browser would scroll before the page is high enough
    navigation.onChange = (isSame = false) =>
      setCurrent((before) => ({ href: location.href, times: before.times + (isSame ? 1 : 0) }));
    const onPopState = ({ isTrusted, state }) => {
      navigation.isBack = isTrusted;
      navigation.onChange();
      scrollBack(state ?? { y: 0, height: 0, link: null });
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
