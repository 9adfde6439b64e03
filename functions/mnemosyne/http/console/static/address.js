// Navigation within the page, and the lists, scroll positions and focus to restore when the person goes back.
import { useEffect, useState } from "./vendor/htm-preact.js";
import { observable } from "./observable.js";

const WAIT_MS = 10_000;
const MOST_LISTS = 10;

// `hasPages` is true if the person has come from another page of the console, `lists` has the items of lists by address
// and name, `results` is the list from which a memory was opened.
const navigation = { isBack: false, hasPages: false, onChange: () => {}, lists: new Map(), results: null };

const height = () => document.documentElement.scrollHeight;
const place = (link = null) => ({ ...history.state, y: scrollY, height: height(), link });

// Go to an address of the console. The current address is loaded again. `isReplaced` replaces it in the history.
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

// Go to the page that this one belongs to, such as the list of a memory: back to its place, if it was the page before.
export function goUp(address, options) {
  if (history.state?.from === new URL(address, location.href).href) history.back();
  else go(address, options);
}

// Go back, but stay in the console, because another site in the history would end the log-in.
export const goBack = () => (navigation.hasPages ? history.back() : go("/"));

// Give the current page another address in the history, without loading it.
export const renameAddress = (address) => history.replaceState(history.state, "", address);

// Mark the parameters of the current address as read. Returns whether they were read before: the person may have gone
// back to them.
export function markRead() {
  const { isRead = false } = history.state ?? {};
  keep({ isRead: true });
  return isRead;
}

const keep = (values) => history.replaceState({ y: 0, height: 0, link: null, ...history.state, ...values }, "");

// A state of the page that the history keeps, so that going back restores it.
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

// Number of changes of memories that this tab knows of. Counts of memories are loaded again after each.
export const changes = observable(0);
export const tellChange = () => changes.set(changes.get() + 1);

// Call this after a change, so that no list shows the state before it.
export function forgetLists() {
  navigation.lists.clear();
  tellChange();
}

// The list that a memory belongs to: its address, name and ids. j and k go through it.
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

// Scroll back as soon as the page is as high as before, unless the person scrolls in the meantime, and move the focus
// back to the link that was followed.
function scrollBack({ y, height: before, link }) {
  const deadline = performance.now() + WAIT_MS;
  const stop = new AbortController();
  for (const name of ["wheel", "keydown", "pointerdown"]) {
    addEventListener(name, () => stop.abort(), { signal: stop.signal });
  }
  const look = () => {
    if (stop.signal.aborted) return;
    // Scrolling at each frame would lay out other rows at each frame while a long list grows.
    if (height() >= before || performance.now() > deadline) {
      scrollTo(0, y);
      stop.abort();
      if (link) linkTo(link)?.focus({ preventScroll: true });
    } else requestAnimationFrame(look);
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
  const address = link.getAttribute("href");
  if ("up" in link.dataset) goUp(address);
  else go(address, { link: address });
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
