// Import files, with an outcome of each line, and export all memories.
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { forgetLists } from "./address.js";
import { count, Import } from "./import_file.js";
import { client } from "./mcp.js";
import { Button, Heading, Problem, save, useAction } from "./components.js";
import { emptyReason } from "./file_chunks.js";

const MOST_LINES = 200; // shown on the page
const REFRESH_MS = 250; // a line may end every millisecond
const NUMBER = new Intl.NumberFormat();
const ENDINGS = ".jsonl,.ndjson,.txt,.chronicle,.md,.markdown,.gz";

// Imports of this tab, latest first. They go on while another page is shown; `refresh` draws them on this one.
const imports = { list: [], refresh: () => {} };

const warnBeforeClose = (event) => {
  if (imports.list.some(({ isRunning }) => isRunning)) event.preventDefault();
};

export function Files({ may }) {
  return html`<div><${Heading}>Files</>
    ${may.has("import_memories") && may.has("ingest_status") && html`<${Imports} />`}<${Export} /></div>`;
}

async function importFiles(files) {
  addEventListener("beforeunload", warnBeforeClose); // once, however often it is added
  for (const file of files) {
    const entry = { name: file.name, file, total: 0, done: 0, lines: [], error: null };
    const onLine = (line) => {
      entry.done += line.memories ?? 1;
      entry.lines.push(line);
    };
    const onWait = (reason) => { entry.state = reason ? `Waiting: ${reason}` : "Importing …"; };
    entry.work = new Import(file, onLine, onWait);
    imports.list.unshift(entry);
    await run(entry);
  }
}

// Run an import, or resume it.
async function run(entry) {
  Object.assign(entry, { isRunning: true, isStopped: false, state: "Importing …", error: null });
  const timer = setInterval(() => imports.refresh(), REFRESH_MS);
  try {
    if (!entry.total) entry.total = await countMemories(entry.file);
    entry.isStopped = !(await entry.work.run());
    entry.state = entry.isStopped ? "Stopped." : "Done.";
  } catch (error) {
    Object.assign(entry, { state: "Stopped.", isStopped: entry.total > 0, error });
  }
  clearInterval(timer);
  entry.isRunning = false;
  forgetLists();
  imports.refresh();
}

// Number of memories in a file. Throws if there are none.
async function countMemories(file) {
  try {
    const total = await count(file);
    if (!total) throw new Error(emptyReason(file.name));
    return total;
  } catch (error) {
    throw new Error(`${file.name} cannot be read: ${error.message}`, { cause: error });
  }
}

function Imports() {
  const [, setTimes] = useState(0);
  const [isOver, setIsOver] = useState(false);
  useEffect(() => {
    const leave = new AbortController();
    // The browser would open a file that is dropped next to the target.
    addEventListener("dragover", (event) => event.preventDefault(), { signal: leave.signal });
    const drop = (event) => {
      event.preventDefault();
      setIsOver(false);
      importFiles([...event.dataTransfer.files]);
    };
    addEventListener("drop", drop, { signal: leave.signal });
    const refresh = () => setTimes((before) => before + 1);
    imports.refresh = refresh;
    refresh(); // for changes since the first rendering
    return () => {
      leave.abort();
      if (imports.refresh === refresh) imports.refresh = () => {};
    };
  }, []);
  const choose = ({ target }) => {
    importFiles([...target.files]);
    target.value = ""; // so that the same file can be chosen again after a correction
  };
  return html`<section aria-labelledby="import"><h2 id="import">Import</h2>
    <div class=${isOver ? "drop over" : "drop"} onDragOver=${() => setIsOver(true)}
      onDragLeave=${() => setIsOver(false)}>
      <label for="files">Drop JSON lines, chronicles or Markdown notes here, or choose files</label>
      <input id="files" type="file" multiple accept=${ENDINGS} onChange=${choose} />
    </div>
    ${imports.list.map((entry) => html`<${Entry} entry=${entry} />`)}</section>`;
}

// Number of memories by state, such as "3 stored, 1 failed".
export function countsByState(lines) {
  const counts = new Map();
  for (const { state, memories = 1 } of lines) counts.set(state, (counts.get(state) ?? 0) + memories);
  const known = [...counts].filter(([, number]) => number);
  return known.map(([state, number]) => `${NUMBER.format(number)} ${state}`).join(", ");
}

const toJsonLines = (objects) => objects.map((object) => `${JSON.stringify(object)}\n`);
export const isFailure = ({ state }) => !["stored", "duplicate", "deleted"].includes(state);

function Entry({ entry }) {
  const { name, lines, total, done } = entry;
  const failures = lines.filter(isFailure).map(({ line, error }) => ({ source: `${name}:${line}`, error }));
  const leftOut = [...new Set(lines.flatMap((line) => line.left_out ?? []))];
  const progress = `${entry.state} ${NUMBER.format(done)} of ${NUMBER.format(total)}`;
  return html`<article class="entry"><h3>${name}</h3>
    <progress max=${total || 1} value=${done} aria-label=${`Progress of ${name}`}></progress>
    <p role="status">${progress}${lines.length > 0 && `: ${countsByState(lines)}`}</p>
    ${entry.isRunning && html`
      <button class="other" onClick=${() => entry.work.stop()} aria-label=${`Stop importing ${name}`}>Stop</button>`}
    <${Problem} error=${entry.error} />
    ${entry.isStopped && html`
      <button class="other" onClick=${() => run(entry)} aria-label=${`Resume importing ${name}`}>Resume</button>`}
    ${leftOut.length > 0 && html`<p class="note">Unknown fields that were left out: ${leftOut.join(", ")}</p>`}
    ${lines.length > 0 && html`<${Lines} name=${name} lines=${lines} />`}
    ${failures.length > 0 && html`<p><button class="other"
      onClick=${() => save(`${name}.failures.jsonl`, toJsonLines(failures))}>Save failures</button></p>`}
  </article>`;
}

function Lines({ name, lines }) {
  const failuresFirst = [...lines.filter(isFailure), ...lines.filter((line) => !isFailure(line))];
  return html`<details><summary>Outcomes</summary>
    <ul class="lines">${failuresFirst.slice(0, MOST_LINES).map((line) => html`<${Line} ...${line} />`)}</ul>
    ${lines.length > MOST_LINES && html`
      <p class="note">and ${NUMBER.format(lines.length - MOST_LINES)} more: save the outcomes to see all</p>`}
    <button class="other" onClick=${() => save(`${name}.outcomes.jsonl`, toJsonLines(lines))}>Save outcomes</button>
  </details>`;
}

const Line = ({ line, state, memory_id: id, error }) => html`<li>Line ${line}:${" "}
  ${id ? html`<a href=${`/memories/${id}`}>${state}</a>` : state}${error && ` – ${error}`}</li>`;

function Export() {
  const [written, setWritten] = useState(0);
  const isStopped = useRef(false);
  const exporting = useAction(async () => {
    const pieces = [];
    const callTool = client.retrying();
    let cursor;
    isStopped.current = false;
    setWritten(0);
    do {
      const page = await callTool("export_memories", cursor ? { cursor } : {});
      pieces.push(page.lines);
      setWritten((before) => before + page.memories);
      cursor = page.next_cursor;
    } while (cursor && !isStopped.current);
    if (isStopped.current) throw new Error("The export was stopped: no file was saved.");
    save("memories.jsonl", pieces);
    return true;
  });
  const { busy, done } = exporting;
  const stop = () => { isStopped.current = true; };
  return html`<section aria-labelledby="export"><h2 id="export">Export</h2>
    <p>All memories as JSON lines, byte for byte as <code>mnemosyne export</code> writes them.</p>
    <div class="row"><${Button} busy=${busy} onClick=${exporting.run}>Export</>
      ${busy && html`<button class="other" onClick=${stop}>Stop</button>`}</div>
    ${(busy || done) && html`<p role="status">${NUMBER.format(written)} memories${done && ": the file was saved"}</p>`}
    <${Problem} error=${exporting.error} /></section>`;
}
