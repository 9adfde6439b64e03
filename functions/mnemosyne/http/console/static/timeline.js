// How many memories there are of each day, week, month or year: a stretch that is marked filters the list below.
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { call } from "./mcp.js";
import { Problem, useAction, ZONE } from "./parts.js";

const HEIGHT = 150;
const DAY = 86400;
const MOST_SHOWN = 2000;
const NUMBER = new Intl.NumberFormat();
const STEPS = {
  day: (at) => at.setDate(at.getDate() + 1),
  week: (at) => at.setDate(at.getDate() + 7),
  month: (at) => at.setMonth(at.getMonth() + 1),
  year: (at) => at.setFullYear(at.getFullYear() + 1),
};

// The local midnight that a date names, and the one that its bucket ends before.
function midnight(date) {
  const [year, month, day] = date.split("-").map(Number);
  const at = new Date(2000, month - 1, day);
  at.setFullYear(year);
  return at;
}
const after = (at, per) => {
  const next = new Date(at);
  STEPS[per](next);
  return next;
};

// The filters of a stretch, within the years that there can be memories of; the server takes both ends as within, to the
// microsecond.
const EARLIEST = Date.parse("0001-01-01T00:00:00Z");
const LATEST = Date.parse("9999-12-31T23:59:59.999Z");
const stretch = (from, until) => ({
  after: new Date(Math.max(from, EARLIEST)).toISOString(),
  before: new Date(Math.min(until - 1, LATEST)).toISOString().replace("Z", "999Z"),
});

// Every bucket from the first on, those without memories too, so that time is as long as it was.
function filled({ per, buckets }) {
  const counts = new Map(buckets.map((one) => [midnight(one.start).getTime(), one.memories]));
  const times = [...counts.keys()];
  if (!times.length) return [[], []];
  const all = [];
  for (let at = new Date(times[0]); at <= times.at(-1) && all.length < MOST_SHOWN; at = after(at, per)) all.push(at.getTime());
  const shown = all.at(-1) === times.at(-1) ? all : times;
  return [shown.map((time) => time / 1000), shown.map((time) => counts.get(time) ?? 0)];
}

// `span` is the stretch that is marked now, if one is.
export function Timeline({ filters, span, onMarked }) {
  const counting = useAction(() => call("memory_timeline", { ...filters, timezone: ZONE }));
  useEffect(() => void counting.run(), [JSON.stringify(filters)]);
  const found = counting.done;
  return html`<section aria-labelledby="timeline"><h2 id="timeline">Memories over time</h2>
    <${Problem} error=${counting.error} />
    ${found && found.buckets.length > 0 && html`
      <${Plot} found=${found} span=${span} onMarked=${onMarked} />
      <details><summary>By the ${found.per}, as a list</summary><ul class="lines">${found.buckets.map((one) => {
        const from = midnight(one.start);
        return html`<li><button class="plain" onClick=${() => onMarked(stretch(from, after(from, found.per)))}>${named(one.start, found.per)}</button>${" "}
          ${NUMBER.format(one.memories)}</li>`;
      })}</ul></details>`}</section>`;
}

// A bucket as it is called.
const named = (start, per) => ({ month: start.slice(0, -3), year: start.slice(0, -6) })[per] ?? start;

function Plot({ found, span, onMarked }) {
  const place = useRef(null);
  const marked = useRef(onMarked);
  const [plot, setPlot] = useState(null);
  const [error, setError] = useState(null);
  marked.current = onMarked;
  useEffect(() => {
    let drawn;
    let gone = false;
    const resized = () => drawn?.setSize({ width: place.current.clientWidth, height: HEIGHT });
    const told = (made) => (gone ? made?.destroy() : setPlot((drawn = made)));
    draw(place, found, (span) => marked.current(span)).then(told, () => setError(new Error("The plot could not be loaded: reload the page.")));
    addEventListener("resize", resized);
    return () => ((gone = true), removeEventListener("resize", resized), setPlot(null), drawn?.destroy());
  }, [found]);
  useEffect(() => void (plot && select(plot, span)), [plot, span.after, span.before]);
  return html`<div><div ref=${place} class="plot" role="img" aria-label=${`Memories by the ${found.per}; the list below says the same`}></div>
    <p class="note drag">Drag over a stretch of time to see its memories.</p><${Problem} error=${error} /></div>`;
}

// Show the stretch that is marked, however it came to be.
function select(plot, { after: from, before: until }) {
  const { min, max } = plot.scales.x;
  const at = (moment, otherwise) => plot.valToPos(Math.min(Math.max(moment ? Date.parse(moment) / 1000 : otherwise, min), max), "x");
  const [left, right] = from || until ? [at(from, min), at(until, max)] : [0, 0];
  plot.setSelect({ left, width: Math.max(0, right - left), top: 0, height: plot.over.clientHeight }, false);
}

// The library is loaded where it is needed, and draws in the page's own colours.
async function draw(place, { per, buckets }, onMarked) {
  const { default: UPlot } = await import("./vendor/uPlot.js");
  if (!document.getElementById("plot-style")) {
    const link = Object.assign(document.createElement("link"), { id: "plot-style", rel: "stylesheet" });
    link.href = new URL("./vendor/uPlot.css", import.meta.url).href;
    document.head.append(link);
  }
  if (!place.current) return undefined;
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const data = filled({ per, buckets });
  const end = after(new Date(data[0].at(-1) * 1000), per).getTime() / 1000;
  const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line") }, ticks: { show: false } };
  // No mark stands for less than a day, as no bar does.
  const space = (_, __, from, until, length) => Math.max(60, (length * DAY) / (until - from));
  const marked = (plot) => {
    if (plot.select.width < 1) return;
    const at = (left) => plot.posToVal(left, "x");
    const within = data[0].filter((time) => time <= at(plot.select.left + plot.select.width));
    const first = within.findLast((time) => time <= at(plot.select.left)) ?? data[0][0];
    onMarked(stretch(new Date(first * 1000), after(new Date((within.at(-1) ?? first) * 1000), per)));
  };
  const options = {
    width: place.current.clientWidth, height: HEIGHT, legend: { show: false }, hooks: { setSelect: [marked] },
    cursor: { drag: { x: true, y: false, setScale: false }, y: false, points: { show: false } },
    scales: { x: { time: true, range: () => [data[0][0], end] }, y: { range: (_, __, most) => [0, Math.max(most, 1)] } },
    axes: [{ ...axis, space }, { ...axis, size: 48, values: (_, marks) => marks.map((one) => (Number.isInteger(one) ? NUMBER.format(one) : "")) }],
    series: [{}, { fill: colour("--act"), stroke: colour("--act"), paths: UPlot.paths.bars({ size: [0.9, Infinity], align: 1 }), points: { show: false } }],
  };
  return new UPlot(options, data, place.current);
}
