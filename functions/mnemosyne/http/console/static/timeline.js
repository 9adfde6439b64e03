// Memories over time: a chart and the same numbers as a list. Both filter the memories below.
import { html, useEffect } from "./vendor/htm-preact.js";
import { bucketEnd, bucketName, midnight, timeFilters } from "./buckets.js";
import { Chart } from "./chart.js";
import { call } from "./mcp.js";
import { Problem, useAction } from "./components.js";
import { ZONE } from "./time.js";

const NUMBER = new Intl.NumberFormat();

// `selection` has the filters `after` and `before`, as far as they are set.
export function Timeline({ filters, selection, onSelect }) {
  const counting = useAction(() => call("memory_timeline", { ...filters, timezone: ZONE }));
  useEffect(() => void counting.run(), [JSON.stringify(filters)]);
  const timeline = counting.done;
  return html`<section aria-labelledby="timeline"><h2 id="timeline">Memories over time</h2>
    <${Problem} error=${counting.error} />
    ${timeline && timeline.buckets.length > 0 && html`
      <${Chart} timeline=${timeline} selection=${selection} onSelect=${onSelect} />
      <p class="note drag">Drag over the chart to filter by time.</p>
      <details><summary>List by ${timeline.per}</summary>
        <ul class="lines">${timeline.buckets.map((bucket) => html`
          <${Line} ...${bucket} per=${timeline.per} onSelect=${onSelect} />`)}</ul>
      </details>`}</section>`;
}

function Line({ start, memories, per, onSelect }) {
  const time = midnight(start);
  const select = () => onSelect(timeFilters(time, bucketEnd(time, per)));
  return html`<li>
    <button class="plain" onClick=${select}>${bucketName(start, per)}</button> ${NUMBER.format(memories)}</li>`;
}
