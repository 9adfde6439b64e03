// The strip: a chart with bars for the number of memories over time. A person selects a period by dragging. The chart
// has fixed coordinates that the browser stretches, so a change of width needs no redrawing.
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { axisLabels, bucketEnd, bucketLabel, coarsen, fillBuckets, filtersOfSelection, midnight } from "./buckets.js";
import { LoadProblem, useAction } from "./components.js";
import { call } from "./mcp.js";
import { memories as countMemories } from "./text.js";
import { ZONE } from "./time.js";

const WIDTH = 1000;
const HEIGHT = 48;
const GAP = 0.15; // gap between bars, as a share of the width of a bar
const MOST_BAR = 42;
const MOST_BARS = 120;
const NARROW = 0.01; // share of the width of the chart that is too narrow to show a selected period

// Functions that convert values for the chart:
//   x       the horizontal coordinate of a time
//   timeOf  the time at a fraction of the width
//   height  the height of the bar for a count
export function scales(buckets, per) {
  const [start, end] = [buckets[0].time, bucketEnd(buckets.at(-1).time, per)];
  const most = Math.max(...buckets.map(({ memories }) => memories), 1);
  const clamp = (value, least, greatest) => Math.min(Math.max(value, least), greatest);
  const x = (time) => ((clamp(time, start, end) - start) / (end - start)) * WIDTH;
  const timeOf = (fraction) => start + clamp(fraction, 0, 1) * (end - start);
  const height = (count) => (count ? Math.max((count / most) * MOST_BAR, 1) : 0);
  return { x, timeOf, height, start, end };
}

// Whether a selected period is too narrow to be seen in the chart, for example if a memory is of the year 1.
export function isTooNarrow({ per, buckets }, { after, before }) {
  if (!buckets.length || !(after || before)) return false;
  const [start, end] = [midnight(buckets[0].start), bucketEnd(midnight(buckets.at(-1).start), per)];
  const [from, until] = [after ? Date.parse(after) : start, before ? Date.parse(before) : end];
  return Math.min(until, end) - Math.max(from, start) < NARROW * (end - start);
}

// The chart of the number of memories over time. `filters` are the filters of the page, without the time. `selection`
// is the selected period: `after` and `before`. If this period is too narrow, the chart shows only the period.
export function Strip({ filters, selection, onSelect }) {
  const count = (period) => call("memory_timeline", { ...filters, ...period, timezone: ZONE });
  const counting = useAction(() => count());
  const zooming = useAction(({ after, before }) => count({ ...(after && { after }), ...(before && { before }) }));
  useEffect(() => void counting.run(), [JSON.stringify(filters)]);
  const isNarrow = Boolean(counting.done) && isTooNarrow(counting.done, selection);
  useEffect(() => { if (isNarrow) zooming.run(selection); }, [isNarrow, selection.after, selection.before]);
  const shown = isNarrow && zooming.done?.buckets.length > 1 ? zooming.done : counting.done;
  const timeline = shown && coarsen(shown, MOST_BARS);
  if (counting.error) return html`<${LoadProblem} error=${counting.error} onRetry=${() => counting.run()} isPart />`;
  // Keep the room of the chart while it loads. Otherwise a row could move just before a person clicks on it.
  if (!timeline) {
    return html`<figure class="strip" style=${{ visibility: "hidden" }}><div class="strip-plot"></div>
      <figcaption class="strip-axis">\u00a0</figcaption></figure>`;
  }
  if (timeline.buckets.length < 2) return null;
  const suffix = filters.include_superseded ? ", replaced ones included" : "";
  return html`<${Plot} ...${{ timeline, suffix, selection, onSelect }} />`;
}

function Plot({ timeline, suffix, selection, onSelect }) {
  const { per } = timeline;
  const buckets = fillBuckets(timeline);
  const { x, timeOf, height, start, end } = scales(buckets, per);
  const plot = useRef(null);
  const select = (from, until) => onSelect(filtersOfSelection(buckets, per, from, until));
  const { drag, handlers } = useDrag(plot, timeOf, select);
  const { after, before } = selection;
  const range = [after ? Date.parse(after) : start, before ? Date.parse(before) : end];
  const isDate = (after || before) && !range.some(Number.isNaN);
  const marked = drag ?? (isDate ? range : null);
  const isIn = (time) => marked && bucketEnd(time, per) > marked[0] && time <= marked[1];
  const total = timeline.buckets.reduce((sum, { memories }) => sum + memories, 0);
  const label = `${countMemories(total)} by the ${per}, from ${bucketLabel(start, per)} to ${
    bucketLabel(buckets.at(-1).time, per)}${suffix}. Choose a time with the filter.`;
  return html`<figure class="strip"><div class="strip-plot" ref=${plot} ...${handlers}>
    <svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label=${label}>
      ${marked && html`<rect class="sel" x=${x(marked[0])} y="0" height=${HEIGHT}
        width=${Math.max(0, x(marked[1]) - x(marked[0]))} />`}
      ${buckets.filter(({ memories }) => memories).map(({ time, memories }) => {
        const place = x(bucketEnd(time, per)) - x(time);
        return html`<rect class=${isIn(time) ? "bar in" : "bar"} x=${x(time) + (place * GAP) / 2}
          width=${place * (1 - GAP)}
          y=${HEIGHT - height(memories)} height=${height(memories)}>
          <title>${bucketLabel(time, per)}: ${countMemories(memories)}</title></rect>`;
      })}</svg></div>
    <figcaption class="strip-axis" aria-hidden="true">${
      axisLabels({ start, end, last: buckets.at(-1).time, per }).map((name, index) => html`
        <span class=${index % 2 ? "wide" : ""}>${name}</span>`)}
    </figcaption></figure>`;
}

// Let a person select a period by dragging over the chart. The result has the selected period while the person drags,
// and the handlers for the pointer's events.
function useDrag(plot, timeOf, onEnd) {
  const [range, setRange] = useState(null); // the times where the drag started and where the pointer is
  const timeAt = ({ clientX }) => {
    const { left, width } = plot.current.getBoundingClientRect();
    return timeOf((clientX - left) / width);
  };
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
    onEnd(from, until);
  };
  const onPointerCancel = () => setRange(null);
  const drag = range && range.toSorted((one, other) => one - other);
  return { drag, handlers: { onPointerDown, onPointerMove, onPointerUp, onPointerCancel } };
}
