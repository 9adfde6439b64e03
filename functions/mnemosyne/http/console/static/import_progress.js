// The progress of a running import and of a running export, at the foot of every page except Import & export.
import { html } from "./vendor/htm-preact.js";
import { latestExport } from "./export_run.js";
import { imports } from "./imports.js";
import { useValue } from "./observable.js";
import { number } from "./text.js";

export function ImportProgress() {
  const running = useValue(imports).list.find(({ isRunning }) => isRunning);
  const { run } = useValue(latestExport);
  if (location.pathname === "/import") return null;
  return html`${running && html`<${Progress} ...${running} />`}
    ${run?.busy && html`<${Progress} name="Export" done=${run.written} total=${run.total} />`}`;
}

// If the total is unknown, the bar has no value.
const Progress = ({ name, done, total }) => html`<a class="import-progress" href="/import" aria-live="off">
  <span class="name">${name}</span>
  <progress max=${total || 1} value=${total ? done : null} aria-label=${`Progress of ${name}`}></progress>
  <span class="num">${number(done)}${total > 0 && ` of ${number(total)}`}</span></a>`;
