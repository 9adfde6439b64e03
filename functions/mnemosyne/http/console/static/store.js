// Store a memory and show its outcome.
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { forgetLists } from "./address.js";
import { call, client } from "./mcp.js";
import { Button, Heading, Problem, useAction } from "./components.js";
import { parseTags } from "./tags.js";

const OUTCOMES = {
  queued: "Queued for embedding.",
  stored: "Stored. Searches can find it now.",
  duplicate: "A memory with this content exists already.",
  failed: "It could not be stored.",
  dead_lettered: "Dead-lettered. The operator can redrive it.",
};
const EMPTY = { content: "", title: "", tags: "", timestamp: "" };

const draft = { current: EMPTY }; // kept while another page is open

// Arguments of ingest_memory for a form.
export function argumentsOf({ content, title, tags, timestamp }) {
  const args = { content };
  if (title) args.title = title;
  if (tags.trim()) args.tags = parseTags(tags);
  if (timestamp) args.timestamp = new Date(timestamp).toISOString();
  return args;
}

export function Store({ may }) {
  const [form, setForm] = useState(draft.current);
  const [outcome, setOutcome] = useState(null);
  const left = useRef(new AbortController());
  useEffect(() => () => left.current.abort(), []);
  const keep = (typed) => {
    draft.current = typed;
    setForm(typed);
  };
  const storing = useAction(async () => {
    setOutcome(null);
    const { request_id: id } = await call("ingest_memory", argumentsOf(form));
    setOutcome({ state: "queued" });
    keep(EMPTY);
    forgetLists();
    if (may.has("ingest_status")) {
      await client.outcomes([id], ([status]) => setOutcome(status), undefined, left.current.signal);
    }
  });
  const submit = (event) => {
    event.preventDefault();
    if (!storing.busy) storing.run();
  };
  return html`<div>
    <${Heading}>Store</>
    <${Form} form=${form} busy=${storing.busy} onChange=${keep} onSubmit=${submit} />
    <${Problem} error=${storing.error} />
    ${outcome && html`<${Outcome} outcome=${outcome} canRead=${may.has("get_memory")} />`}
  </div>`;
}

function Form({ form, busy, onChange, onSubmit }) {
  const change = (name) => (event) => onChange({ ...form, [name]: event.target.value });
  const field = (name) => ({ value: form[name], onInput: change(name) });
  return html`<form onSubmit=${onSubmit}>
    <label for="content">What should be remembered?</label>
    <textarea id="content" rows="6" required ...${field("content")}></textarea>
    <div class="row">
      <div><label for="store-title">Title</label><input id="store-title" ...${field("title")} /></div>
      <div><label for="store-tags">Tags</label><input id="store-tags" ...${field("tags")} /></div>
      <div><label for="timestamp">Time of the event</label>
        <input id="timestamp" type="datetime-local" ...${field("timestamp")} /></div>
    </div>
    <${Button} busy=${busy}>Store</>
  </form>`;
}

function Outcome({ outcome, canRead }) {
  const { state, error, memory_id: id } = outcome;
  return html`<p role="status" class=${`outcome ${state}`}>${OUTCOMES[state] ?? state}
    ${error && ` ${error}`}
    ${id && canRead && html` <a href=${`/memories/${id}`}>Read it</a>`}</p>`;
}
