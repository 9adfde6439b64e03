// A list in which j and k move the focus and x picks a row.
import { html, useLayoutEffect, useRef, useState } from "./vendor/htm-preact.js";
import { BulkBar, TagDialog } from "./bulk.js";
import { deleteLater } from "./deletions.js";
import { isRestored } from "./focus.js";
import { useKeys } from "./keys.js";
import { useBar } from "./shell.js";

const rowsOf = (list) => [...list.querySelectorAll("[data-id]")];

// The row that is `step` rows from the row `id`. Without this row, it is the row at `place` or the one before.
function rowAfter(rows, id, place, step) {
  const before = rows.findIndex((row) => row.dataset.id === id);
  const next = before < 0 ? place + Math.min(step, 0) : before + step;
  return rows[Math.max(0, Math.min(rows.length - 1, next))];
}

// Ids between two rows, both included.
export function idsBetween(ids, from, until) {
  const [start, end] = [ids.indexOf(from), ids.indexOf(until)].sort((one, other) => one - other);
  return start < 0 ? [until] : ids.slice(start, end + 1);
}

// The ids of the picked rows, and functions that pick one row or a range of rows. `list` refers to the element of the
// list. A range is all rows between two rows, in the order of the page.
function usePicks(list) {
  const [picks, setPicks] = useState(new Set());
  const [isPicking, setIsPicking] = useState(false);
  const last = useRef(null); // the row that was picked last, where a range begins
  const clear = () => {
    setPicks(new Set());
    setIsPicking(false);
  };
  const pick = (id, isRange) => {
    const { current: first } = last;
    const ids = rowsOf(list.current).map((row) => row.dataset.id);
    setPicks((before) => {
      const next = new Set(before);
      if (isRange && first) for (const other of idsBetween(ids, first, id)) next.add(other);
      else if (next.has(id)) next.delete(id);
      else next.add(id);
      return next;
    });
    last.current = id;
  };
  return { picks, pick, clear, isPicking: isPicking || picks.size > 0, setIsPicking };
}

// Make a function that returns the state of a row. While the state is unchanged, the function returns the same object,
// so that the row is not rendered again.
function useRows({ at, picks, onFocus, pick }) {
  const rows = useRef(new Map());
  const latest = useRef(null);
  latest.current = { onFocus, pick };
  return (id) => {
    const [isAt, isPicked] = [id === at, picks.has(id)];
    const before = rows.current.get(id);
    if (before?.isAt === isAt && before.isPicked === isPicked) return before;
    const onPick = (event) => latest.current.pick(id, event.shiftKey);
    const row = { isAt, isPicked, onFocus: () => latest.current.onFocus(id), onPick };
    rows.current.set(id, row);
    return row;
  };
}

// After a deletion, focus the row that takes the place of the deleted one. The result is a reference to a flag, which
// the caller sets before a deletion.
function useFocusAfterDeletion(list, place, count) {
  const isDeletion = useRef(false);
  useLayoutEffect(() => {
    const rows = isDeletion.current && list.current ? rowsOf(list.current) : [];
    rows[Math.min(place.current, rows.length - 1)]?.querySelector(".row-link").focus({ preventScroll: true });
    isDeletion.current = false;
  }, [count]);
  return isDeletion;
}

// Let a person move through a list and pick rows, with keys or the mouse, to tag or delete the picked memories. `items`
// are the memories of the list, in the order of the page. `onTagged` is called with the ids of changed memories, the
// added tags and the removed tags.
export function useSelection({ items, may, onTagged }) {
  const ids = items.map(({ id }) => id);
  const [at, setAt] = useState(null);
  const list = useRef(null);
  const { picks, pick, clear, isPicking, setIsPicking } = usePicks(list);
  const [isTagging, setIsTagging] = useState(false);
  const place = useRef(0); // index of the current row `at`, or its index before it was deleted
  if (ids.includes(at)) place.current = ids.indexOf(at);
  const selection = items.filter(({ id }) => picks.has(id));
  const isDeletion = useFocusAfterDeletion(list, place, ids.length);
  const isInBar = () => Boolean(document.activeElement?.closest(".bulk"));
  const remove = (memories) => {
    if (at === null) place.current = Math.max(0, ids.indexOf(memories[0].id));
    isDeletion.current = at !== null || isInBar();
    clear();
    deleteLater(memories);
  };
  const move = (step) => {
    const row = rowAfter(rowsOf(list.current), at, place.current, step);
    if (!row) return;
    setAt(row.dataset.id);
    row.querySelector(".row-link").focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  };
  const current = selection.length ? selection : items.filter(({ id }) => id === at);
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    x: () => (at ? pick(at, false) : false),
    "Shift+x": () => (at ? pick(at, true) : false),
    t: () => (may.has("update_memory") && selection.length ? setIsTagging(true) : false),
    Delete: () => (may.has("delete_memory") && current.length ? remove(current) : false),
    Escape: () => (isPicking ? clear() : false),
  });
  useBar(selection.length > 0 && html`<${BulkBar} memories=${selection} may=${may} onClear=${clear}
    onTag=${() => setIsTagging(true)} onDelete=${() => remove(selection)} />`);
  const dialog = isTagging && html`<${TagDialog} memories=${selection} may=${may} onClose=${() => setIsTagging(false)}
    onTagged=${onTagged} onDone=${clear} />`;
  // A row that gets the focus because another element was removed does not become the current row. Otherwise pressing
  // Delete twice would delete two memories.
  const onFocus = (id) => {
    const isChosen = id === at || !(isRestored() || isDeletion.current);
    if (!isChosen) place.current = ids.indexOf(id);
    setAt(isChosen ? id : null);
  };
  const rowOf = useRows({ at, picks, onFocus, pick });
  return { list, rowOf, dialog, isPicking, setIsPicking };
}
