// The page Import & export: import files with the outcome of each line, and export all memories.
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { Button, Heading, Icon, Problem, save, State, useAction } from "./components.js";
import { takeFolder, useDrops } from "./drops.js";
import { countsOf, importFiles, imports, isFailure, resume, timeLeft } from "./imports.js";
import { latestExport, startExport, stopExport } from "./export_run.js";
import { call } from "./mcp.js";
import { useValue } from "./observable.js";
import { quantity, memories as countMemories, number } from "./text.js";

const MOST_LINES = 200; // maximum lines that the page shows
const MOST_REASONS = 5;
const ENDINGS = ".jsonl,.ndjson,.txt,.chronicle,.md,.markdown,.gz";

export function Transfer({ may }) {
  const mayImport = may.has("import_memories") && may.has("ingest_status");
  return html`<div class="narrow"><div class="page-head"><${Heading}>Import & export</></div><div class="stack">
    ${mayImport && html`<${Drop} /><${Imports} />`}<${Export} />
    ${may.has("forget_memories") && html`<section class="panel pad stack-s" aria-labelledby="forget">
      <h2 id="forget">Forget</h2><p class="soft small">Delete many memories with all their texts in the database, with a
        receipt.${" "}
        <a href="/forget">Choose what to forget</a></p></section>`}</div></div>`;
}

function Drop() {
  const [isOver, setIsOver] = useState(false);
  const [files, folder] = [useRef(null), useRef(null)];
  useDrops({ onOver: setIsOver });
  const choose = (take) => ({ target }) => {
    take([...target.files]);
    target.value = ""; // so that the same file can be chosen again after a correction
  };
  return html`<div class=${isOver ? "drop over" : "drop"}><${Icon} name="upload" />
    <div class="stack-s"><h2>Drop files or a folder here, or paste files</h2>
      <p class="soft small">An export of Mnemosyne (<span class="mono">.jsonl</span>), Markdown notes
        (<span class="mono">.md</span>), chronicles (<span class="mono">.txt</span>), compressed or not
        (<span class="mono">.gz</span>)</p></div>
    <input id="files" class="sr" type="file" multiple accept=${ENDINGS} aria-label="Files to import" tabindex="-1"
      ref=${files} onChange=${choose(importFiles)} />
    <input id="folder" class="sr" type="file" webkitdirectory aria-label="Folder to import" tabindex="-1"
      ref=${folder} onChange=${choose(takeFolder)} />
    <div class="btns"><${Button} class="btn main" onClick=${() => files.current.click()}>Choose files</>
      <${Button} onClick=${() => folder.current.click()}>Choose a folder</></div></div>`;
}

function Imports() {
  const { list } = useValue(imports);
  return list.map((entry) => html`<${Entry} key=${entry} entry=${entry} />`);
}

const toJsonLines = (objects) => objects.map((object) => `${JSON.stringify(object)}\n`);

const isAllStored = ({ state, lines }) => state === "Done." && countsOf(lines).failed === 0;

// One line for an import that has finished without failures.
function DoneEntry({ entry: { name, lines, total }, onOpen }) {
  const { stored, duplicates } = countsOf(lines);
  return html`<div class="panel-head"><${Icon} name="file" />
    <div class="grow"><strong>${name}</strong> <span class="soft small num">${countMemories(total)}</span></div>
    ${stored > 0 && html`<${State} state="stored">${`${number(stored)} stored`}</>`}
    ${duplicates > 0 && html`<${State} state="duplicate">${`${number(duplicates)} already known`}</>`}
    <${Button} class="btn quiet small" aria-label=${`Details of ${name}`} onClick=${onOpen}>Details</></div>`;
}

function Entry({ entry }) {
  const [isOpen, setIsOpen] = useState(false);
  if (isAllStored(entry) && !isOpen) {
    return html`<section class="panel" role="status" aria-label=${entry.name}>
      <${DoneEntry} entry=${entry} onOpen=${() => setIsOpen(true)} /></section>`;
  }
  return html`<${FullEntry} entry=${entry} />`;
}

function FullEntry({ entry }) {
  const { name, lines, total, done, isRunning, isStopped } = entry;
  const buttons = html`${isRunning && html`<${Button} class="btn small" icon="stop" onClick=${() => entry.work.stop()}
      aria-label=${`Stop importing ${name}`}>Stop</>`}
    ${isStopped && html`<${Button} class="btn small" icon="retry" onClick=${() => resume(entry)}
      aria-label=${`Resume importing ${name}`}>Resume</>`}`;
  const leftOut = [...new Set(lines.flatMap((line) => line.left_out ?? []))];
  return html`<section class="panel" aria-label=${name}><div class="panel-head"><${Icon} name="file" />
      <div class="grow"><strong>${name}</strong> <span class="soft small num">
        ${total > 0 && countMemories(total)}</span></div>${buttons}</div>
    <div class="pad stack"><div class="stack-s">
      <progress max=${total || 1} value=${done} aria-label=${`Progress of ${name}`}></progress>
      <p class="btns small"><span class="num"><span role="status">${entry.state}</span>${" "}
          ${number(done)} of ${number(total)}</span>
        <span class="grow"></span><span class="soft">${isRunning && timeLeft(entry)}</span></p></div>
    <${Counts} lines=${lines} /><${Problem} error=${entry.error} />
    <${Failures} name=${name} lines=${lines} />
    ${leftOut.length > 0 && html`<p class="help">Unknown fields that were left out: ${leftOut.join(", ")}</p>`}
    ${lines.length > 0 && html`<${Lines} name=${name} lines=${lines} />`}
    ${isRunning && html`<p
      class="help">The import continues while you use other pages. Closing the tab stops it; the same
      file again stores nothing twice.</p>`}</div></section>`;
}

function Counts({ lines }) {
  const { stored, duplicates, failed } = countsOf(lines);
  const count = (value, state, name) => value > 0 && html`<${State} state=${state}>
    <span class="num">${`${number(value)} ${name}`}</span></>`;
  return html`<p class="counts">${count(stored, "stored", "stored")}${count(duplicates, "duplicate", "already known")}
    ${count(failed, "failed", "not stored")}</p>`;
}

function Failures({ name, lines }) {
  const failures = lines.filter(isFailure);
  if (!failures.length) return null;
  const saved = failures.map(({ line, error }) => ({ source: `${name}:${line}`, error }));
  return html`<ul class="small stack-s">${failures.slice(0, MOST_REASONS).map(({ line, error, state }) => html`
      <li><span class="num soft">Line ${number(line)}</span> ${error ?? state}</li>`)}
      ${failures.length > MOST_REASONS && html`<li
        class="soft">and ${number(failures.length - MOST_REASONS)} more</li>`}</ul>
    <p><${Button} class="btn small" icon="download" onClick=${() => save(`${name}.failures.jsonl`, toJsonLines(saved))}>
      Save failures</></p>`;
}

function Lines({ name, lines }) {
  const failuresFirst = [...lines.filter(isFailure), ...lines.filter((line) => !isFailure(line))];
  return html`<details class="fold"><summary><${Icon} name="right" small />Every line</summary>
    <ul class="stack-s small">${failuresFirst.slice(0, MOST_LINES).map((line) => html`<${LineResult}
      ...${line} />`)}</ul>
    ${lines.length > MOST_LINES && html`<p
      class="help">and ${quantity(lines.length - MOST_LINES, "line")} more: save them to
      see all</p>`}
    <p><${Button} class="btn small" icon="download" onClick=${() => save(`${name}.outcomes.jsonl`, toJsonLines(lines))}>
      Save all lines</></p></details>`;
}

const NAMES = { duplicate: "already known", dead_lettered: "given up", incomplete: "stored in part" };
const LineResult = ({ line, state, memory_id: id, error }) => html`<li><span
  class="num soft">Line ${number(line)}</span>${" "}
  ${id ? html`<a href=${`/memories/${id}`}>
    ${NAMES[state] ?? state}</a>` : NAMES[state] ?? state}${error && `: ${error}`}</li>`;

const FORMATS = [["jsonl", "JSON lines"], ["markdown", "Markdown"]];

function Export() {
  const [format, setFormat] = useState("jsonl");
  const counting = useAction(() => call("memory_stats"));
  const isImporting = useValue(imports).list.some(({ isRunning }) => isRunning);
  useEffect(() => void counting.run(), [isImporting]);
  const { busy = false, done, written, error } = useValue(latestExport).run ?? {};
  const total = counting.done?.memories;
  const choice = ([value, name]) => html`<${Button} aria-pressed=${String(value === format)}
    onClick=${() => setFormat(value)}>${name}</>`;
  return html`<section class="panel pad stack" aria-labelledby="export"><div class="stack-s"><h2 id="export">Export</h2>
      <p class="soft small">JSON lines have all fields of the memories, and can be imported again, here or elsewhere.
        Only <span class="mono">mnemosyne export</span> also writes ratings, outcomes and the links of records. Markdown
        is a zip file with one note per memory.</p></div>
    <div class="btns"><span class="joined" role="group" aria-label="Format">${FORMATS.map(choice)}</span>
      <span class="grow"></span>
      ${busy && html`<${Button} icon="stop" onClick=${stopExport}>Stop</>`}
      <${Button} class="btn main" icon="download" busy=${busy} onClick=${() => startExport(format, total)}>
        ${total === undefined ? "Export" : `Export ${countMemories(total)}`}</></div>
    ${(busy || done) && html`<p class="small">${countMemories(written)}<span role="status">
      ${done && ": the file was saved"}</span></p>`}
    <${Problem} error=${error} /></section>`;
}
