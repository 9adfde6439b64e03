// The page Overview: the state of the system, and how much of each limit is used.
import { html, useEffect } from "./vendor/htm-preact.js";
import { axisMarks, bucketLabel } from "./buckets.js";
import { Heading, Icon, Loading, LoadProblem, State, useAction } from "./components.js";
import { localDate, momentName } from "./dates.js";
import { failures, isReachable, person } from "./health.js";
import { call } from "./mcp.js";
import { useValue } from "./observable.js";
import { tagAddress } from "./tags.js";
import { memories as countMemories, number } from "./text.js";
import { formatTime, ZONE } from "./time.js";

const NEARLY_FULL = 0.8;
const MONTHS = 12;
const TAGS = 7;
const RESET = ", resets at midnight UTC";
const CHART_HEIGHT = 100;
const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"];

// A number of bytes in the largest unit that it reaches: "3.1 MiB".
export function bytesText(bytes) {
  const power = bytes ? Math.min(Math.floor(Math.log2(bytes) / 10), UNITS.length - 1) : 0;
  const value = bytes / 1024 ** power;
  const format = new Intl.NumberFormat(undefined, { maximumFractionDigits: power && value < 100 ? 1 : 0 });
  return `${format.format(value)} ${UNITS[power]}`;
}

// The limits of the quota that are set, each with the share that is used.
export function limitsOf(quota) {
  const limits = [
    { name: "Memories", used: quota.memories, limit: quota.memories_limit, text: number },
    { name: "Storage", used: quota.bytes, limit: quota.bytes_limit, text: bytesText },
    { name: "New texts today", used: quota.texts_today, limit: quota.texts_limit, text: number, after: RESET },
  ];
  return limits
    .filter(({ limit }) => limit !== null && limit !== undefined)
    .map((entry) => ({ ...entry, used: entry.used ?? 0, share: entry.limit ? (entry.used ?? 0) / entry.limit : 1 }));
}

// Number of failures that need a look: failed requests, and dead-lettered requests or dead letters. Most dead-lettered
// requests have a dead letter, so only the larger of their two numbers is added. `counts` is null until the requests
// are counted.
export const looksNeeded = (counts, { dead_lettered: given, dead_letters: letters }) =>
  (counts?.failed ?? 0) + Math.max(counts?.dead_lettered ?? 0, given, letters);

// Address of the page Activity, with the list that shows the failures. Below each list, the page also shows the dead
// letters without a request.
export function looksAddress(counts, { dead_lettered: given }) {
  const [hasFailed, hasGivenUp] = [counts?.failed > 0, Math.max(counts?.dead_lettered ?? 0, given) > 0];
  if (hasFailed === hasGivenUp) return "/activity";
  return hasFailed ? "/activity?state=failed" : "/activity?state=dead_lettered";
}

export function Overview({ may }) {
  const stats = useAction(() => call("memory_stats", { limit: TAGS }));
  const months = useAction(() => call("memory_timeline", { per: "month", timezone: ZONE }));
  const tags = useAction(() => call("memory_facets", { limit: TAGS }));
  const load = () => {
    stats.run();
    if (may.has("memory_timeline")) months.run();
    if (may.has("memory_facets")) tags.run();
  };
  useEffect(load, []);
  const isThere = useValue(isReachable);
  const counts = useValue(failures);
  return html`<div class="page-head"><${Heading} class="grow">Overview</>
      ${stats.done && isThere && html`<${Health} count=${looksNeeded(counts, stats.done)}
        isKnown=${Boolean(counts)} />`}</div>
    <${LoadProblem} error=${stats.error} onRetry=${load} />
    ${!stats.done && !stats.error && html`<${Loading} rows=${4} />`}
    ${stats.done && html`<div class="stack"><${Tiles} stats=${stats.done} />
      <div class="halves">
        ${months.done?.buckets.length > 0 && html`<${Months} timeline=${months.done} />`}
        <${LoadProblem} error=${months.error} onRetry=${() => months.run()} isPart />
        ${tags.done && html`<${TopTags} tags=${tags.done.tags} />`}
        <${LoadProblem} error=${tags.error} onRetry=${() => tags.run()} isPart /></div>
      <div class="halves"><${Limits} quota=${stats.done.quota} /><${About} stats=${stats.done}
        may=${may} /></div></div>`}`;
}

function Health({ count, isKnown }) {
  if (count) return html`<${State} state="failed">Some requests need a look</>`;
  return isKnown && html`<${State} state="stored">No failed requests</>`;
}

const Tile = ({ label, value, children }) => html`<div class="panel tile"><span class="label">${label}</span>
  <span class="big">${value}</span><span class="small soft">${children}</span></div>`;

function Tiles({ stats }) {
  const counts = useValue(failures);
  const count = looksNeeded(counts, stats);
  const [fullest] = limitsOf(stats.quota).sort((one, other) => other.share - one.share);
  return html`<div class="tiles">
    <${Tile} label="Memories" value=${number(stats.memories)}>
      ${stats.oldest && `since ${momentName(stats.oldest)}`}</>
    <${Tile} label="Waiting" value=${number(stats.pending)}>${stats.pending ? "to be stored" : "nothing waits"}</>
    <${Tile} label="Need a look" value=${number(count)}>${count ? html`<a href=${looksAddress(counts, stats)}>
      See Activity</a>` : "nothing failed"}</>
    ${fullest ? html`<${Tile} label="Fullest limit" value=${`${Math.round(fullest.share * 100)} %`}>
        ${fullest.name}: ${fullest.text(fullest.used)} of ${fullest.text(fullest.limit)}</>`
      : html`<${Tile} label="Storage" value=${bytesText(stats.storage_bytes)}>no limits are set</>`}</div>`;
}

// The bars of the chart: the twelve months up to the present one. Memories may have times in the future.
export function recentMonths(buckets, now = new Date()) {
  const counts = new Map(buckets.map(({ start, memories }) => [start, memories]));
  return Array.from({ length: MONTHS }, (_, index) => {
    const start = new Date(now.getFullYear(), now.getMonth() + 1 - MONTHS + index, 1);
    return { time: start.getTime(), memories: counts.get(localDate(start)) ?? 0 };
  });
}

function Months({ timeline }) {
  const buckets = recentMonths(timeline.buckets);
  const most = Math.max(...buckets.map(({ memories }) => memories), 1);
  const marks = axisMarks(most);
  const y = (count) => CHART_HEIGHT * (1 - count / marks[0]);
  const texts = buckets.map(({ time, memories }) => `${number(memories)} in ${bucketLabel(time, "month")}`);
  const label = `Memories by month: ${texts.join(", ")}`;
  const step = 1200 / MONTHS;
  const width = step * 0.68;
  const short = new Intl.DateTimeFormat(undefined, { month: "short" });
  return html`<section class="panel pad stack"><h2>Memories by month</h2><figure class="chart">
    <div class="chart-y" aria-hidden="true">${marks.map((count) => html`<span>
      ${number(count)}</span>`)}</div>
    <svg viewBox="0 0 1200 100" preserveAspectRatio="none" role="img" aria-label=${label}>
      ${[0, 50, 100].map((line) => html`<line x1="0" x2="1200" y1=${line} y2=${line} />`)}
      ${buckets.map(({ time, memories }, index) => html`<rect class=${index === MONTHS - 1 ? "now" : ""}
        x=${index * step + (step - width) / 2} width=${width} y=${y(memories)} height=${CHART_HEIGHT - y(memories)}>
        <title>${bucketLabel(time, "month")}: ${countMemories(memories)}</title></rect>`)}</svg>
    <figcaption class="chart-x" aria-hidden="true">${buckets.map(({ time }, index) => html`
      <span class=${index % 2 ? "" : "thin"}>${short.format(new Date(time))}
      </span>`)}</figcaption></figure></section>`;
}

function TopTags({ tags }) {
  const most = Math.max(...tags.map(({ memories }) => memories), 1);
  return html`<section class="panel pad stack"><h2>Most used tags</h2>
    ${!tags.length && html`<p class="soft small">No tags yet.</p>`}
    ${tags.length > 0 && html`<dl class="tagbars">${tags.map(({ tag, memories }) => html`
      <dt><a href=${tagAddress(tag)}>${tag}</a></dt><dd><progress max=${most} value=${memories}
        aria-label=${`${tag}: ${number(memories)}`}></progress><span class="num">
          ${number(memories)}</span></dd>`)}</dl>`}</section>`;
}

function Limits({ quota }) {
  const limits = limitsOf(quota);
  return html`<section class="panel pad stack"><h2>Limits</h2>
    ${!limits.length && html`<p class="soft small">No limits are set.</p>`}
    ${limits.length > 0 && html`<ul class="stack small">
      ${limits.map(({ name, used, limit, share, text, after = "" }) => html`
      <li class="stack-s"><p class="btns"><span class="grow">${name}</span>
        <span class="num soft">${text(used)} of ${text(limit)}${after}</span></p>
        <progress class=${share >= NEARLY_FULL ? "warn" : ""} max=${limit || 1} value=${used}
          aria-label=${name}></progress></li>`)}</ul>`}
  </section>`;
}

function About({ stats, may }) {
  const who = useValue(person);
  const rows = [
    ["Namespace", who?.namespace],
    ["Credential", who?.name],
    ["Valid until", who?.expires_at && formatTime(who.expires_at)],
    ["Last used", who?.last_used_at && formatTime(who.last_used_at)],
    ["You may", who?.scopes?.join(", ")],
    ["Address", `${location.host}/mcp`],
    ["Model", `${stats.embedding_model}, ${stats.embedding_dimension}`],
    ["Oldest", stats.oldest && formatTime(stats.oldest)],
    ["Newest", stats.newest && formatTime(stats.newest)],
    ["Storage", bytesText(stats.storage_bytes)],
  ];
  return html`<section class="panel pad stack"><h2>This memory</h2>
    <dl class="facts">${rows.filter(([, value]) => value).map(([name, value]) => html`<dt>${name}</dt><dd>
      ${value}</dd>`)}</dl>
    ${stats.warning && html`<p class="small wrong">${stats.warning}</p>`}
    <p class="btns">${may.has("list_memories") && html`<a class="btn small" href="/connect"><${Icon}
      name="link" small />
      Connect a client</a>`}
      ${may.has("list_audit") && html`<a class="btn small" href="/audit"><${Icon} name="list" small />
      Audit trail</a>`}</p></section>`;
}
