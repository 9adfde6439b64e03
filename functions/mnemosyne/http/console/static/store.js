// Store a memory, and see what becomes of it.
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { forgetLists } from "./address.js";
import { call, outcomes } from "./mcp.js";
import { Button, Heading, listed, Problem, useAction } from "./parts.js";

const SAID = {
  queued: "Queued: it is being embedded.",
  stored: "Stored: it can be found now.",
  duplicate: "A memory of this content is there already.",
  failed: "It could not be stored.",
  dead_lettered: "It was given up; the operator can send it again.",
};
const EMPTY = { content: "", title: "", tags: "", timestamp: "" };

let draft = EMPTY; // what is typed stays while another page is looked at

export function Store({ may }) {
  const [form, setForm] = useState(draft);
  const [outcome, setOutcome] = useState(null);
  const left = useRef(new AbortController());
  useEffect(() => () => left.current.abort(), []);
  const keep = (typed) => ((draft = typed), setForm(typed));
  const change = (name) => (event) => keep({ ...form, [name]: event.target.value });
  const storing = useAction(async () => {
    setOutcome(null);
    const args = { content: form.content };
    if (form.title) args.title = form.title;
    if (form.tags.trim()) args.tags = listed(form.tags);
    if (form.timestamp) args.timestamp = new Date(form.timestamp).toISOString();
    const { request_id } = await call("ingest_memory", args);
    setOutcome({ state: "queued" });
    keep(EMPTY);
    forgetLists();
    if (may.has("ingest_status")) await outcomes([request_id], ([told]) => setOutcome(told), undefined, left.current.signal);
  });
  const submit = (event) => (event.preventDefault(), storing.busy || storing.run());
  return html`<div>
    <${Heading}>Store</>
    <form onSubmit=${submit}>
      <label for="content">What should be remembered?</label>
      <textarea id="content" rows="6" required value=${form.content} onInput=${change("content")}></textarea>
      <div class="row">
        <div><label for="store-title">Title</label><input id="store-title" value=${form.title} onInput=${change("title")} /></div>
        <div><label for="store-tags">Tags</label><input id="store-tags" value=${form.tags} onInput=${change("tags")} /></div>
        <div><label for="timestamp">When it happened</label><input id="timestamp" type="datetime-local" value=${form.timestamp} onInput=${change("timestamp")} /></div>
      </div>
      <${Button} busy=${storing.busy}>Store</>
    </form>
    <${Problem} error=${storing.error} />
    ${outcome && html`<p role="status" class=${`outcome ${outcome.state}`}>${SAID[outcome.state] ?? outcome.state}
      ${outcome.error && ` ${outcome.error}`}
      ${outcome.memory_id && may.has("get_memory") && html` <a href=${`/memories/${outcome.memory_id}`}>Read it</a>`}</p>`}
  </div>`;
}
