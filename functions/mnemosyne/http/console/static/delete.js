// Forget a memory: asked twice, and only done once nobody has changed their mind.
import { html, useEffect, useState } from "./vendor/htm-preact.js";
import { call } from "./mcp.js";
import { Problem, useAction } from "./parts.js";

// The server has no undo, so nothing is deleted until these are over.
const UNDO_SECONDS = 10;

export function Delete({ memory, onDeleted }) {
  const [step, setStep] = useState("none");
  const [left, setLeft] = useState(UNDO_SECONDS);
  const deleting = useAction(async () => {
    await call("delete_memory", { id: memory.id });
    onDeleted();
  });
  useEffect(() => {
    if (step !== "waiting") return;
    if (left === 0) return void deleting.run().then(() => setStep("none"));
    const timer = setTimeout(() => setLeft(left - 1), 1000);
    return () => clearTimeout(timer);
  }, [step, left]);
  const wait = () => (setLeft(UNDO_SECONDS), setStep("waiting"));
  const asking = html`<p>It is gone for good then: nothing brings it back.</p><div class="row">
    <button class="bad" onClick=${wait}>Delete for good</button>
    <button class="other" onClick=${() => setStep("none")}>Keep it</button></div>`;
  const waiting = html`<p role="status">It is still there, and will be deleted in ${UNDO_SECONDS} seconds. Who leaves this page keeps it.</p>
    <progress max=${UNDO_SECONDS} value=${UNDO_SECONDS - left} aria-label="Until it is deleted"></progress>
    <div class="row"><button onClick=${() => setStep("none")}>Undo</button>
    <button class="bad" disabled=${deleting.busy} onClick=${() => setLeft(0)}>Delete now</button></div>`;
  return html`<section aria-labelledby="delete"><h2 id="delete">Forget it</h2>
    ${{ none: html`<button class="other" onClick=${() => setStep("asking")}>Delete …</button>`, asking, waiting }[step]}
    <${Problem} error=${deleting.error} /></section>`;
}
