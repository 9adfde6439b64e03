// Forget a memory: asked twice, and only done once nobody has changed their mind.
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { forgetLists } from "./address.js";
import { call } from "./mcp.js";
import { Button, Problem, useAction } from "./parts.js";

// The server has no undo, so nothing is deleted until these are over.
const UNDO_SECONDS = 10;

export function Delete({ memory, onDeleted }) {
  const [step, setStep] = useState("none");
  const [left, setLeft] = useState(UNDO_SECONDS);
  const deleting = useAction(async () => {
    await call("delete_memory", { id: memory.id });
    forgetLists();
    onDeleted();
  });
  // The keyboard goes on at the button that stands where the pressed one stood.
  const place = useRef(null);
  const before = useRef(step);
  useEffect(() => {
    if (before.current !== step) place.current.querySelector("button")?.focus();
    before.current = step;
  }, [step]);
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
    <div class="row"><${Button} busy=${deleting.busy} onClick=${() => setStep("none")}>Undo</>
    <${Button} class="bad" busy=${deleting.busy} onClick=${() => setLeft(0)}>Delete now</></div>`;
  return html`<section aria-labelledby="delete" ref=${place}><h2 id="delete">Forget it</h2>
    ${{ none: html`<button class="other" onClick=${() => setStep("asking")}>Delete …</button>`, asking, waiting }[step]}
    <${Problem} error=${deleting.error} /></section>`;
}
