// Files in and out: import by dropping them, with an outcome per line; export everything.
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { count, importFile } from "./import_file.js";
import { callPatiently } from "./mcp.js";
import { Problem, save, useAction } from "./parts.js";

const SHOWN = 200;
const SHOWN_EVERY_MS = 250;
const NUMBER = new Intl.NumberFormat();
const ENDINGS = ".jsonl,.ndjson,.txt,.chronicle,.md,.markdown,.gz";

export function Files({ may }) {
  return html`<div><h1 tabindex="-1">Files</h1>
    ${may.has("import_memories") && may.has("ingest_status") && html`<${Import} />`}<${Export} /></div>`;
}

// What is imported goes on whichever page is shown, and is told of by the page that shows it.
const imports = [];
let show = () => {};

const isUnderWay = ({ state }) => state === "Reading …" || state === "Storing …";
addEventListener("beforeunload", (event) => imports.some(isUnderWay) && event.preventDefault());

async function take(files) {
  for (const file of files) {
    const one = { name: file.name, total: 0, done: 0, lines: [], state: "Reading …", error: null, stop: new AbortController() };
    imports.unshift(one);
    const shown = setInterval(() => show(), SHOWN_EVERY_MS); // a line may end every millisecond
    try {
      one.total = await count(file);
      if (!one.total) throw new Error("it holds no memory");
      one.state = "Storing …";
      await importFile(file, (line) => ((one.done += line.memories ?? 1), one.lines.push(line)), one.stop.signal);
      one.state = one.stop.signal.aborted ? "Stopped: what comes after was not handed over." : "Done.";
    } catch (error) {
      Object.assign(one, { state: "Stopped.", error: new Error(`${file.name} cannot be read: ${error.message}`) });
    }
    clearInterval(shown);
    show();
  }
}

function Import() {
  const [, setTimes] = useState(0);
  const [over, setOver] = useState(false);
  useEffect(() => {
    show = () => setTimes((before) => before + 1);
    return () => (show = () => {});
  }, []);
  const drop = (event) => (event.preventDefault(), setOver(false), take([...event.dataTransfer.files]));
  const hover = (event) => (event.preventDefault(), setOver(true));
  return html`<section aria-labelledby="import"><h2 id="import">Import</h2>
    <div class=${over ? "drop over" : "drop"} onDragOver=${hover} onDragLeave=${() => setOver(false)} onDrop=${drop}>
      <label for="files">JSON lines, chronicles or Markdown notes: drop them here, or choose</label>
      <input id="files" type="file" multiple accept=${ENDINGS} onChange=${(event) => take([...event.target.files])} />
    </div>
    ${imports.map((one) => html`<${Imported} one=${one} />`)}</section>`;
}

const counted = (lines) => {
  const counts = {};
  for (const { state, memories = 1 } of lines) counts[state] = (counts[state] ?? 0) + memories;
  return Object.entries(counts).filter(([, number]) => number).map(([state, number]) => `${NUMBER.format(number)} ${state}`).join(", ");
};
const json = (objects) => objects.map((one) => `${JSON.stringify(one)}\n`);

function Imported({ one }) {
  const failures = one.lines.filter(({ error, state }) => error && state !== "duplicate");
  const leftOut = [...new Set(one.lines.flatMap((line) => line.left_out ?? []))];
  return html`<article class="entry"><h3>${one.name}</h3>
    <progress max=${one.total || 1} value=${one.done} aria-label=${`Progress of ${one.name}`}></progress>
    <p role="status">${one.state} ${NUMBER.format(one.done)} of ${NUMBER.format(one.total)}${one.lines.length > 0 && `: ${counted(one.lines)}`}</p>
    ${isUnderWay(one) && html`<button class="other" onClick=${() => one.stop.abort()} aria-label=${`Stop importing ${one.name}`}>Stop</button>`}
    <${Problem} error=${one.error} />
    ${leftOut.length > 0 && html`<p class="note">Left out, because memories have no such fields: ${leftOut.join(", ")}</p>`}
    ${one.lines.length > 0 && html`<details><summary>Each line</summary>
      <ul class="lines">${one.lines.slice(0, SHOWN).map((line) => html`<li>Line ${line.line}: ${line.memory_id
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
    let cursor;
    stop.current = false;
    setWritten(0);
    do {
      const page = await callPatiently("export_memories", cursor ? { cursor } : {});
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
    <div class="row"><button disabled=${exporting.busy} onClick=${exporting.run}>Export</button>
      ${exporting.busy && html`<button class="other" onClick=${() => (stop.current = true)}>Stop</button>`}</div>
    ${(exporting.busy || exporting.done) && html`<p role="status">${NUMBER.format(written)} memories${exporting.done && ": the file is saved"}</p>`}
    <${Problem} error=${exporting.error} /></section>`;
}
