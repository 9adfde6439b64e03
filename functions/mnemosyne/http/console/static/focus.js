// The focus of the keyboard after the element with the focus was removed. Without this module the focus would be lost,
// and a screen reader would begin again at the top of the page.

const WAIT_MS = 200; // before the focus is moved, because the page itself may move it
const CONTROLS = "a[href], button, summary, select, textarea, input:not([tabindex='-1'])";

// The element of the page that had the focus last (`element`), and its place: its ancestors, the innermost first, each
// with the index of the child that contains the element. `floating` is the element in a dialog, or at the foot of the
// page, that has had the focus since then. A person who uses a pointer (`isPointer`) gets no focus at another place,
// where the space bar, for example, would no longer scroll the page.
const last = { element: null, place: [], floating: null, isPointer: false };

function placeOf(element) {
  const place = [];
  for (let child = element; child.parentElement; child = child.parentElement) {
    place.push({ parent: child.parentElement, index: [...child.parentElement.children].indexOf(child) });
  }
  return place;
}

function onFocusIn({ target }) {
  if (target.closest("dialog, .floor")) last.floating = target;
  else Object.assign(last, { element: target, place: placeOf(target), floating: null });
}

const controlsOf = (elements) =>
  elements.flatMap((one) => [...(one.matches(CONTROLS) ? [one] : []), ...one.querySelectorAll(CONTROLS)]);

// Focus the first control that takes the focus, because some may be invisible. Return whether there is one.
const focusFirst = (controls) => controls.some((control) => {
  control.focus({ preventScroll: true });
  return document.activeElement === control;
});

// Focus the control after the place of the removed element, or else the one before it.
function focusNear(place) {
  return place.filter(({ parent }) => parent.isConnected).some(({ parent, index }) => {
    const children = [...parent.children];
    return focusFirst(controlsOf(children.slice(index)))
      || focusFirst(controlsOf(children.slice(0, index)).toReversed());
  });
}

// Forget an element from which the focus was taken on purpose, for example the search field after Escape. Chromium also
// sends this event just before it removes an element.
function onFocusOut({ target, relatedTarget }) {
  if (!relatedTarget) setTimeout(() => {
    if (target === last.element && target.isConnected && document.activeElement === document.body) last.element = null;
  });
}

const isLost = () => (last.floating ?? last.element)?.isConnected === false;

function restore() {
  if (!isLost() || document.activeElement !== document.body) return;
  const { element, place, isPointer } = last;
  Object.assign(last, { element: null, floating: null });
  if (element && !focusFirst([element]) && !isPointer) focusNear(place);
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
