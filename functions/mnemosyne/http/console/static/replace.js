// The dialog to choose the memory that replaces the shown memory.
import { html, useEffect, useState } from "./vendor/htm-preact.js";
import { forgetLists } from "./address.js";
import { Button, Dialog, Icon, Line, Problem, Time, useAction, useChange } from "./components.js";
import { momentName } from "./dates.js";
import { call } from "./mcp.js";
import { labelsOf } from "./row.js";
import { bodyOf, plain, shorten } from "./text.js";
import { showToast } from "./toast.js";

const LIMIT = 6;
const WAIT_MS = 300;
const MOST_TEXT = 200;

// Find memories that may replace this memory.
async function candidates(query, id) {
  const { memories } = await call("memory_search", { query, limit: LIMIT + 1 });
  return memories.filter((memory) => memory.id !== id).slice(0, LIMIT);
}

const textOf = ({ content }) => shorten(plain(bodyOf(content)), MOST_TEXT);

export function Replace({ memory, onClose }) {
  const [query, setQuery] = useState("");
  const [successor, setSuccessor] = useState(null);
  const searching = useAction((text) => candidates(text, memory.id));
  useEffect(() => {
    const text = query.trim() || shorten(textOf(memory), 100);
    const timer = setTimeout(() => searching.run(text), WAIT_MS);
    return () => clearTimeout(timer);
  }, [query]);
  const replacing = useChange("Replace", async () => {
    await change(successor.id);
    const undo = () => change(memory.superseded_by ?? "none");
    showToast("Replaced.", { onAction: () => undo().catch(({ message }) => showToast(`Not undone: ${message}`)) });
    return true;
  });
  const change = async (id) => {
    await call("update_memory", { id: memory.id, superseded_by: id });
    forgetLists(memory.id);
  };
  const replace = () => successor && replacing.run();
  const button = html`<${Button} class="btn main" busy=${replacing.busy || !successor}
    onClick=${replace}>Replace it</>`;
  return html`<${Dialog} title="Replace with…" onClose=${onClose} action=${button} change=${replacing}>
    <form role="search" class="search" onSubmit=${(event) => event.preventDefault()}><${Icon} name="search" />
      <input type="search" aria-label="Which memory is current?" placeholder="Which memory is current?" autofocus
        value=${query} onInput=${(event) => setQuery(event.target.value)} /></form>
    ${searching.done && html`<${Options} memories=${searching.done} ...${{ successor, setSuccessor }} />`}
    ${successor && html`<div class="swap"><div><span class="label">Will be replaced</span><p dir="auto" lang="">${
      textOf(memory)}</p></div>
      <${Icon} name="arrow" /><div><span class="label">Current from now on</span><p dir="auto"
        lang="">${textOf(successor)}</p></div></div>`}
    <p class="help">The replaced memory stays readable under History.</p>
    <${Problem} error=${searching.error ?? replacing.error} /></>`;
}

function Options({ memories, successor, setSuccessor }) {
  if (!memories.length) return html`<p class="help" role="status">No other memories.</p>`;
  return html`<div class="options-list" role="radiogroup" aria-label="Memories">${memories.map((memory) => {
    const { title, text } = labelsOf({ ...memory, preview: textOf(memory) });
    return html`<label class="option" key=${memory.id}><input type="radio" name="with"
      checked=${successor?.id === memory.id}
      onChange=${() => setSuccessor(memory)} /><${Line} title=${title} text=${text} />
      <${Time} at=${memory.timestamp} name=${momentName} class="row-date" /></label>`;
  })}</div>`;
}
