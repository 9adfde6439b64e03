// Mark lines that are too long for their element, so that they end with a whole word and an ellipsis (`.line` in
// lists.css).
import { useEffect, useRef } from "./vendor/htm-preact.js";

// The lines that are visible on the screen (`visible`), and the lines that must be measured (`waiting`).
const lines = { visible: new Set(), waiting: new Set(), observers: null };

// The distance from the edge of a cut line to its last whole word, where the ellipsis is shown. The distance is in
// pixels, and negative if the text runs from left to right.
function dotsOf(line) {
  const box = line.getBoundingClientRect();
  const isRtl = getComputedStyle(line.firstElementChild).direction === "rtl";
  const size = parseFloat(getComputedStyle(line).fontSize);
  const texts = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  let room = box.width; // between the last word and the edge
  while (texts.nextNode()) {
    range.selectNodeContents(texts.currentNode);
    for (const { bottom, left, right } of range.getClientRects()) {
      if (bottom < box.bottom + 3 && bottom > box.bottom - 9) {
        room = Math.min(room, isRtl ? left - box.left : box.right - right);
      }
    }
  }
  const dots = Math.round(Math.max(0, room - size));
  return isRtl ? dots : -dots;
}

// Read all sizes before the first change. Otherwise the browser would lay out the page once for each line.
function measure() {
  const measured = [...lines.waiting].filter((line) => line.isConnected);
  lines.waiting.clear();
  const cut = measured.map((line) => line.firstElementChild?.offsetHeight > line.clientHeight + 2);
  const dots = measured.map((line, index) => (cut[index] ? dotsOf(line) : 0));
  measured.forEach((line, index) => {
    line.classList.toggle("cut", cut[index]);
    if (cut[index]) line.style.setProperty("--dots", `${dots[index]}px`);
  });
}

function queue(line) {
  if (!lines.visible.has(line)) return;
  if (!lines.waiting.size) requestAnimationFrame(measure);
  lines.waiting.add(line);
}

function observers() {
  lines.observers ??= {
    sight: new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        if (isIntersecting) lines.visible.add(target);
        else lines.visible.delete(target);
        queue(target);
      }
    }, { rootMargin: "200px" }),
    size: new ResizeObserver((entries) => { for (const { target } of entries) queue(target); }),
  };
  return lines.observers;
}

// Cut an element of the class `line` when it is too long. The caller sets the returned `ref` on the element.
export function useCutLine() {
  const line = useRef(null);
  useEffect(() => {
    const { current } = line;
    const { sight, size } = observers();
    sight.observe(current);
    size.observe(current);
    return () => {
      sight.unobserve(current);
      size.unobserve(current);
      lines.visible.delete(current);
    };
  }, []);
  useEffect(() => queue(line.current));
  return line;
}
