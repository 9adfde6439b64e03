// The focus of the keyboard after the element with the focus was removed. Without this module the focus would be lost,
// and a screen reader would begin again at the top of the page.

const WAIT_MS = 200; // before the focus is moved, because the page itself may move it
const CONTROLS = "a[href], button, summary, select, textarea, input:not([tabindex='-1'])";

// The element of the page that had the focus last (`element`), its ancestors (`parents`), the innermost first, and the
// controls that precede the element in the page (`before`). `floating` is the element in a dialog, or at the page's
// foot, that has had the focus since then. A person who uses a pointer (`isPointer`) gets no focus at another place,
// where the space bar, for example, would no longer scroll the page. While this module moves the focus, `isRestored` is
// true.
const last = { element: null, parents: [], before: [], floating: null, isPointer: false, isRestored: false };

// Whether this module moves the focus now. Such a focus chooses nothing, for example no row of a list.
export const isRestored = () => last.isRestored;

function parentsOf(element) {
  const parents = [];
  for (let { parentElement: parent } = element; parent; parent = parent.parentElement) parents.push(parent);
  return parents;
}

const isBefore = (one, other) => one.compareDocumentPosition(other) === Node.DOCUMENT_POSITION_FOLLOWING;

function onFocusIn({ target }) {
  if (target.closest("dialog, .floor")) last.floating = target;
  else {
    const before = [...document.querySelectorAll(CONTROLS)].filter((control) => isBefore(control, target));
    Object.assign(last, { element: target, parents: parentsOf(target), before, floating: null });
  }
}

// Focus the first control that takes the focus, because some may be invisible. Return whether there is one.
const focusFirst = (controls) => controls.some((control) => {
  control.focus({ preventScroll: true });
  return document.activeElement === control;
});

const linkOf = (control) => control.closest("[data-id]")?.querySelector(".row-link") ?? control;

// Focus the control after the place of the removed element, or else the one before it, within the innermost ancestor
// that has a control. In a list of memories, focus the link of the row.
function focusNear({ parents, before }) {
  const earlier = new Set(before);
  parents.filter(({ isConnected }) => isConnected).some((parent) => {
    const controls = [...parent.querySelectorAll(CONTROLS)];
    const place = controls.findLastIndex((control) => earlier.has(control)) + 1;
    return focusFirst([...controls.slice(place), ...controls.slice(0, place).toReversed()].map(linkOf));
  });
}

// Forget an element from which the focus was taken on purpose, for example the search field after Escape. Chromium also
// sends this event just before it removes an element.
function onFocusOut({ target, relatedTarget }) {
  if (!relatedTarget) setTimeout(() => {
    const isLeft = target === last.element && !last.floating && target.isConnected;
    if (isLeft && document.activeElement === document.body) last.element = null;
  });
}

const isLost = () => (last.floating ?? last.element)?.isConnected === false;

function restore() {
  if (!isLost() || document.activeElement !== document.body) return;
  const { element, isPointer } = last;
  Object.assign(last, { element: null, floating: null, isRestored: true });
  if (element && !focusFirst([element]) && !isPointer) focusNear(last);
  last.isRestored = false;
}

// Keep the focus from now on.
export function keepFocus() {
  document.addEventListener("focusin", onFocusIn);
  document.addEventListener("focusout", onFocusOut);
  document.addEventListener("keydown", () => { last.isPointer = false; }, true);
  document.addEventListener("pointerdown", () => { last.isPointer = true; }, true);
  // The second timer begins when the page's own effects are due, also if the browser is busy.
  new MutationObserver(() => { if (isLost()) setTimeout(() => setTimeout(restore, WAIT_MS)); })
    .observe(document.body, { childList: true, subtree: true });
}
