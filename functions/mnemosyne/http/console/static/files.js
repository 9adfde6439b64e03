// Files in and out: import by dropping them, with an outcome per line; export everything.
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { forgetLists } from "./address.js";
import { count, Import } from "./import_file.js";
import { patiently } from "./mcp.js";
import { emptiness } from "./parts_of_file.js";
import { Button, Heading, Problem, save, useAction } from "./parts.js";

const SHOWN = 200;
const SHOWN_EVERY_MS = 250;
const NUMBER = new Intl.NumberFormat();
const ENDINGS = ".jsonl,.ndjson,.txt,.chronicle,.md,.markdown,.gz";

export function Files({ may }) {
  return html`<div><${Heading}>Files</>
    ${may.has("import_memories") && may.has("ingest_status") && html`<${Imports} />`}<${Export} /></div>`;
}

// What is imported goes on whichever page is shown, and is told of by the page that shows it.
const imports = [];
let show = () => {};

addEventListener("beforeunload", (event) => imports.some(({ isUnderWay }) => isUnderWay) && event.preventDefault());

async function take(files) {
  for (const file of files) {
    const one = { name: file.name, total: 0, done: 0, lines: [], error: null };
    const told = (line) => ((one.done += line.memories ?? 1), one.lines.push(line));
    const waits = (why) => (one.state = why ? `Waiting: ${why}` : "Storing …");
    Object.assign(one, { file, work: new Import(file, told, waits) });
    imports.unshift(one);
    await run(one);
  }
}

// Import it, or what is left of it.
async function run(one) {
  Object.assign(one, { isUnderWay: true, isLeft: false, state: "Storing …", error: null });
  const shown = setInterval(() => show(), SHOWN_EVERY_MS); // a line may end every millisecond
  try {
    if (!one.total) one.total = await readable(one.file);
    one.isLeft = !(await one.work.run());
    one.state = one.isLeft ? "Stopped." : "Done.";
  } catch (error) {
    Object.assign(one, { state: "Stopped.", isLeft: one.total > 0, error });
  }
  clearInterval(shown);
  one.isUnderWay = false;
  forgetLists();
  show();
}

// How many memories the file has; throws where there are none to be read.
async function readable(file) {
  try {
    const total = await count(file);
    if (!total) throw new Error(emptiness(file.name));
    return total;
  } catch (error) {
    throw new Error(`${file.name} cannot be read: ${error.message}`);
  }
}

function Imports() {
  const [, setTimes] = useState(0);
  const [over, setOver] = useState(false);
  useEffect(() => {
    // A file that misses the place by a little would be opened instead of this page.
    const leave = new AbortController();
    addEventListener("dragover", (event) => event.preventDefault(), { signal: leave.signal });
    addEventListener("drop", (event) => (event.preventDefault(), setOver(false), take([...event.dataTransfer.files])), { signal: leave.signal });
    const mine = () => setTimes((before) => before + 1);
    show = mine;
    show(); // for what has changed since this was drawn
    return () => (leave.abort(), show === mine && (show = () => {}));
  }, []);
  // Emptied, so that the same file, mended, can be chosen once more.
  const choose = ({ target }) => (take([...target.files]), (target.value = ""));
  return html`<section aria-labelledby="import"><h2 id="import">Import</h2>
    <div class=${over ? "drop over" : "drop"} onDragOver=${() => setOver(true)} onDragLeave=${() => setOver(false)}>
      <label for="files">JSON lines, chronicles or Markdown notes: drop them here, or choose</label>
      <input id="files" type="file" multiple accept=${ENDINGS} onChange=${choose} />
    </div>
    ${imports.map((one) => html`<${Imported} one=${one} />`)}</section>`;
}

const counted = (lines) => {
  const counts = {};
  for (const { state, memories = 1 } of lines) counts[state] = (counts[state] ?? 0) + memories;
  return Object.entries(counts).filter(([, number]) => number).map(([state, number]) => `${NUMBER.format(number)} ${state}`).join(", ");
};
const json = (objects) => objects.map((one) => `${JSON.stringify(one)}\n`);
const isFailure = ({ state }) => !["stored", "duplicate", "deleted"].includes(state);

function Imported({ one }) {
  const failures = one.lines.filter(isFailure);
  const first = [...failures, ...one.lines.filter((line) => !isFailure(line))].slice(0, SHOWN);
  const leftOut = [...new Set(one.lines.flatMap((line) => line.left_out ?? []))];
  return html`<article class="entry"><h3>${one.name}</h3>
    <progress max=${one.total || 1} value=${one.done} aria-label=${`Progress of ${one.name}`}></progress>
    <p role="status">${one.state} ${NUMBER.format(one.done)} of ${NUMBER.format(one.total)}${one.lines.length > 0 && `: ${counted(one.lines)}`}</p>
    ${one.isUnderWay && html`<button class="other" onClick=${() => one.work.stop()} aria-label=${`Stop importing ${one.name}`}>Stop</button>`}
    <${Problem} error=${one.error} />
    ${one.isLeft && html`<button class="other" onClick=${() => run(one)} aria-label=${`Go on importing ${one.name}`}>Go on</button>`}
    ${leftOut.length > 0 && html`<p class="note">Left out, because memories have no such fields: ${leftOut.join(", ")}</p>`}
    ${one.lines.length > 0 && html`<details><summary>Each line</summary>
      <ul class="lines">${first.map((line) => html`<li>Line ${line.line}: ${line.memory_id
        ? html`<a href=${`/memories/${line.memory_id}`}>${line.state}</a>` : line.state}${line.error && ` – ${line.error}`}</li>`)}</ul>
      ${one.lines.length > SHOWN && html`<p class="note">and ${NUMBER.format(one.lines.length - SHOWN)} more, in the file</p>`}
      <button class="other" onClick=${() => save(`${one.name}.outcomes.jsonl`, json(one.lines))}>Save the outcomes</button></details>`}
    ${failures.length > 0 && html`<p><button class="other" onClick=${() => save(`${one.name}.failures.jsonl`,
      json(failures.map(({ line, error }) => ({ source: `${one.name}:${line}`, error }))))}>Save the failures</button></p>`}
  </article>`;
}

function Export() {
  const [written, setWritten] = useState(0);
  const stop = useRef(false);
  const exporting = useAction(async () => {
    const pieces = [];
    const callTool = patiently();
    let cursor;
    stop.current = false;
    setWritten(0);
    do {
      const page = await callTool("export_memories", cursor ? { cursor } : {});
      pieces.push(page.lines);
      setWritten((before) => before + page.memories);
      cursor = page.next_cursor;
    } while (cursor && !stop.current);
    if (stop.current) throw new Error("The export was stopped: no file was written.");
    save("memories.jsonl", pieces);
    return true;
  });
  return html`<section aria-labelledby="export"><h2 id="export">Export</h2>
    <p>Everything, as JSON lines: what <code>mnemosyne export</code> writes, byte for byte.</p>
    <div class="row"><${Button} busy=${exporting.busy} onClick=${exporting.run}>Export</>
      ${exporting.busy && html`<button class="other" onClick=${() => (stop.current = true)}>Stop</button>`}</div>
    ${(exporting.busy || exporting.done) && html`<p role="status">${NUMBER.format(written)} memories${exporting.done && ": the file is saved"}</p>`}
    <${Problem} error=${exporting.error} /></section>`;
}
