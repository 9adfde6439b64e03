// The progress of a running import, at the foot of every page except Import & export.
import { html } from "./vendor/htm-preact.js";
import { imports } from "./imports.js";
import { useValue } from "./observable.js";
import { number } from "./text.js";

export function ImportProgress() {
  const { list } = useValue(imports);
  const running = list.find(({ isRunning }) => isRunning);
  if (!running || location.pathname === "/import") return null;
  const { name, done, total } = running;
  return html`<a class="import-progress" href="/import" aria-live="off"><span class="name">${name}</span>
    <progress max=${total || 1} value=${done} aria-label=${`Progress of ${name}`}></progress>
    <span class="num">${number(done)} of ${number(total)}</span></a>`;
}
