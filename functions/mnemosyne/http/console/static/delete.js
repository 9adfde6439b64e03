// Delete a memory: after a confirmation and some seconds in which it can be undone.
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { forgetLists } from "./address.js";
import { call } from "./mcp.js";
import { Button, Problem, useAction } from "./components.js";

const UNDO_SECONDS = 10; // the server has no undo, so the page waits before it deletes

// Move the focus to the first button of the next step, which has replaced the one that was pressed.
function useStepFocus(step) {
  const place = useRef(null);
  const before = useRef(step);
  useEffect(() => {
    if (before.current !== step) place.current.querySelector("button")?.focus();
    before.current = step;
  }, [step]);
  return place;
}

export function Delete({ memory, onDeleted }) {
  const [step, setStep] = useState("none");
  const [left, setLeft] = useState(UNDO_SECONDS);
  const place = useStepFocus(step);
  const deleting = useAction(async () => {
    await call("delete_memory", { id: memory.id });
    forgetLists();
    onDeleted();
  });
  useEffect(() => {
    if (step !== "waiting") return undefined;
    if (left === 0) return void deleting.run().then(() => setStep("none"));
    const timer = setTimeout(() => setLeft(left - 1), 1000);
    return () => clearTimeout(timer);
  }, [step, left]);
  const wait = () => {
    setLeft(UNDO_SECONDS);
    setStep("waiting");
  };
  const cancel = () => setStep("none");
  const steps = {
    none: html`<button class="other" onClick=${() => setStep("asking")}>Delete …</button>`,
    asking: html`<p>This cannot be undone later.</p><div class="row">
      <button class="bad" onClick=${wait}>Delete permanently</button>
      <button class="other" onClick=${cancel}>Cancel</button></div>`,
    waiting: html`
      <p role="status">The memory will be deleted in ${UNDO_SECONDS} seconds. If you leave this page, it is kept.</p>
      <progress max=${UNDO_SECONDS} value=${UNDO_SECONDS - left} aria-label="Time until deletion"></progress>
      <div class="row"><${Button} busy=${deleting.busy} onClick=${cancel}>Undo</>
      <${Button} class="bad" busy=${deleting.busy} onClick=${() => setLeft(0)}>Delete now</></div>`,
  };
  return html`<section aria-labelledby="delete" ref=${place}><h2 id="delete">Delete</h2>
    ${steps[step]}<${Problem} error=${deleting.error} /></section>`;
}
