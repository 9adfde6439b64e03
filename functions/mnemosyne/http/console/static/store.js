// Store a memory, and see what becomes of it.
import { html, useState } from "./vendor/htm-preact.js";
import { call, outcomes } from "./mcp.js";
import { listed, Problem, useAction } from "./parts.js";

const SAID = {
  queued: "Queued: it is being embedded.",
  stored: "Stored: it can be found now.",
  duplicate: "A memory of this content is there already.",
  failed: "It could not be stored.",
  dead_lettered: "It was given up; the operator can send it again.",
};
const EMPTY = { content: "", title: "", tags: "", timestamp: "" };

export function Store({ may }) {
  const [form, setForm] = useState(EMPTY);
  const [outcome, setOutcome] = useState(null);
  const change = (name) => (event) => setForm({ ...form, [name]: event.target.value });
  const storing = useAction(async () => {
    const args = { content: form.content };
    if (form.title) args.title = form.title;
    if (form.tags.trim()) args.tags = listed(form.tags);
    if (form.timestamp) args.timestamp = new Date(form.timestamp).toISOString();
    const { request_id } = await call("ingest_memory", args);
    setOutcome({ state: "queued" });
    setForm(EMPTY);
    if (may.has("ingest_status")) await outcomes([request_id], ([told]) => setOutcome(told));
  });
  const submit = (event) => (event.preventDefault(), storing.run());
  return html`<div>
    <h1 tabindex="-1">Store</h1>
    <form onSubmit=${submit}>
      <label for="content">What should be remembered?</label>
      <textarea id="content" rows="6" required value=${form.content} onInput=${change("content")}></textarea>
      <div class="row">
        <div><label for="store-title">Title</label><input id="store-title" value=${form.title} onInput=${change("title")} /></div>
        <div><label for="store-tags">Tags</label><input id="store-tags" value=${form.tags} onInput=${change("tags")} /></div>
        <div><label for="timestamp">When it happened</label><input id="timestamp" type="datetime-local" value=${form.timestamp} onInput=${change("timestamp")} /></div>
      </div>
      <button disabled=${storing.busy}>Store</button>
    </form>
    <${Problem} error=${storing.error} />
    ${outcome && html`<p role="status" class=${`outcome ${outcome.state}`}>${SAID[outcome.state] ?? outcome.state}
      ${outcome.error && ` ${outcome.error}`}
      ${outcome.memory_id && may.has("get_memory") && html` <a href=${`/memories/${outcome.memory_id}`}>Read it</a>`}</p>`}
  </div>`;
}
