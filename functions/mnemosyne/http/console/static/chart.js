// Bar chart of memories over time, as SVG. Colours come from style.css, so that a change of theme needs no redraw.
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { axisMarks, bucketEnd, bucketLabel, fillBuckets, filtersOfSelection } from "./buckets.js";

const HEIGHT = 150;
const LEFT = 48;
const BOTTOM = 24;
const TOP = 8;
const LABEL_WIDTH = 110;
const NUMBER = new Intl.NumberFormat();
const clamp = (value, least, most) => Math.min(Math.max(value, least), most);

// Coordinates of the chart: `x` of a time, `timeOf` an x, `y` of a count.
export function scales(filled, per, width) {
  const [start, end] = [filled[0].time, bucketEnd(filled.at(-1).time, per)];
  const most = Math.max(...filled.map(({ memories }) => memories), 1);
  const [span, base] = [width - LEFT, HEIGHT - BOTTOM];
  const x = (time) => LEFT + ((clamp(time, start, end) - start) / (end - start)) * span;
  const timeOf = (place) => start + clamp((place - LEFT) / span, 0, 1) * (end - start);
  const y = (count) => base - (count / most) * (base - TOP);
  return { x, timeOf, y, base, most, start, end };
}

// Buckets that have room for a label.
export function labelled(filled, x, width) {
  const labels = [];
  for (const bucket of filled) {
    const left = x(bucket.time);
    if (left + LABEL_WIDTH > width && labels.length) break;
    if (!labels.length || left - x(labels.at(-1).time) >= LABEL_WIDTH) labels.push(bucket);
  }
  return labels;
}

function useWidth(element) {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry.contentRect.width)));
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return width;
}

// `selection` has the filters `after` and `before`. `onSelect` is called with such filters after a drag.
export function Chart({ timeline, selection, onSelect }) {
  const place = useRef(null);
  const width = useWidth(place);
  return html`<div ref=${place} class="plot">
    ${width > LEFT && html`<${Drawing} ...${{ timeline, selection, onSelect, width }} />`}
  </div>`;
}

function Drawing({ timeline, selection, onSelect, width }) {
  const { per } = timeline;
  const filled = fillBuckets(timeline);
  const { x, timeOf, y, base, most, start, end } = scales(filled, per, width);
  const { drag, handlers } = useDrag((from, until) => onSelect(filtersOfSelection(filled, per, from, until)), timeOf);
  const { after, before } = selection;
  const chosen = (after || before) && [after ? Date.parse(after) : start, before ? Date.parse(before) : end];
  const marked = drag ?? chosen;
  const text = `Memories by the ${per}`;
  return html`<svg role="img" aria-labelledby="chart-title" aria-describedby="chart-text"
    width=${width} height=${HEIGHT} ...${handlers}>
    <title id="chart-title">${text}</title>
    <desc id="chart-text">The list below has the same numbers and can be used by keyboard.</desc>
    ${axisMarks(most).map((count) => html`<g class="axis">
      <line x1=${LEFT} x2=${width} y1=${y(count)} y2=${y(count)} />
      <text x=${LEFT - 8} y=${y(count) + 4} text-anchor="end">${NUMBER.format(count)}</text></g>`)}
    ${labelled(filled, x, width).map(({ time }) => html`<g class="axis">
      <text x=${x(time)} y=${HEIGHT - 6}>${bucketLabel(time, per)}</text></g>`)}
    ${filled.filter(({ memories }) => memories).map(({ time, memories }) => {
      const slot = Math.max(x(bucketEnd(time, per)) - x(time), 1);
      return html`<g><title>${bucketLabel(time, per)}: ${NUMBER.format(memories)}</title>
        <rect class="slot" x=${x(time)} y=${TOP} width=${slot} height=${base - TOP} />
        <rect class="bar" x=${x(time)} y=${y(memories)} width=${Math.max(slot * 0.9, 1)}
          height=${base - y(memories)} /></g>`;
    })}
    ${marked && html`<rect class="selection" x=${x(marked[0])} y=${TOP} height=${base - TOP}
      width=${Math.max(0, x(marked[1]) - x(marked[0]))} />`}
  </svg>`;
}

// Select a range of time with the pointer: the range while it is dragged, and the handlers of the element.
function useDrag(onEnd, timeOf) {
  const [range, setRange] = useState(null); // the times where the drag started and where the pointer is
  const timeAt = (event) => timeOf(event.clientX - event.currentTarget.getBoundingClientRect().left);
  const onPointerDown = (event) => {
    if (event.button || event.pointerType === "touch") return; // a finger scrolls the page
    event.currentTarget.setPointerCapture(event.pointerId);
    setRange([timeAt(event), timeAt(event)]);
  };
  const onPointerMove = (event) => {
    if (range) setRange([range[0], timeAt(event)]);
  };
  const onPointerUp = (event) => {
    if (!range) return;
    setRange(null);
    const [from, until] = [range[0], timeAt(event)].sort((one, other) => one - other);
    if (until > from) onEnd(from, until);
  };
  const onPointerCancel = () => setRange(null);
  const drag = range && range.toSorted((one, other) => one - other);
  return { drag, handlers: { onPointerDown, onPointerMove, onPointerUp, onPointerCancel } };
}
