// The page Connect a client, and the first steps that an empty list shows: connect a client, write a memory, import
// notes.
import { html, useRef, useState } from "./vendor/htm-preact.js";
import { go } from "./address.js";
import { Button, Heading, Icon, Problem, useChange, useRequired } from "./components.js";
import { copy } from "./copy.js";
import { isComposed } from "./keys.js";
import { call } from "./mcp.js";
import { usePoll } from "./poll.js";

const mcpAddress = () => `${location.origin}/mcp`;
const json = (value) => JSON.stringify(value, null, 1).replaceAll(/\n\s*/gu, " ");

// The configuration of each client, by the name of the client.
const snippets = (url) => ({
  "Claude Code": `claude mcp add --transport http mnemosyne ${url}`,
  Cursor: json({ mcpServers: { mnemosyne: { url } } }),
  "VS Code": json({ servers: { mnemosyne: { type: "http", url } } }),
  "Any other": url,
});

export function Connect({ may }) {
  return html`<div class="narrow"><div class="page-head"><${Heading}>Connect a client</>
    <p>Any client of the Model Context Protocol can use this memory.</p></div><${Steps} may=${may} /></div>`;
}

export function Steps({ may, isEmpty = false }) {
  const mayWrite = may.has("ingest_memory");
  return html`<div class="steps">
    ${isEmpty && html`<div class="page-head none"><h2>No memories yet</h2>
      <p>Memories come from your assistants and agents once they are connected, or from you.</p></div>`}
    <section class="panel step"><span class="step-no" aria-hidden="true">1</span><div class="stack">
      <div class="stack-s"><h2>Connect a client</h2>
        <p class="soft small">Then say to it: “Remember that I take my tea without milk.”</p></div>
      <${Clients} />${isEmpty && html`<${Waiting} />`}</div></section>
    ${mayWrite && html`<section class="panel step"><span class="step-no" aria-hidden="true">2</span>
      <${First} /></section>`}
    ${mayWrite && may.has("import_memories") && html`<section class="panel step">
      <span class="step-no" aria-hidden="true">3</span>
      <div class="btns"><div class="grow"><h2>Or import your notes</h2>
        <p class="soft small">Markdown notes, chronicles, or an export of another Mnemosyne.</p></div>
        <a class="btn" href="/import"><${Icon} name="upload" small />Import files</a></div></section>`}</div>`;
}

// Tabs, as the ARIA Authoring Practices describe them: arrow keys move between them.
function Clients() {
  const texts = Object.entries(snippets(mcpAddress()));
  const [at, setAt] = useState(0);
  const onKeyDown = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = (at + step + texts.length) % texts.length;
    setAt(next);
    event.currentTarget.children[next].focus();
    event.preventDefault();
  };
  const [name, text] = texts[at];
  return html`<div><div class="tabs" role="tablist" aria-label="Client" onKeyDown=${onKeyDown}>
    ${texts.map(([client], index) => html`<button role="tab" id=${`client-${index}`} aria-controls="snippet"
      aria-selected=${String(index === at)} tabindex=${index === at ? 0 : -1} onClick=${() => setAt(index)}>
        ${client}</button>`)}</div>
    <div role="tabpanel" id="snippet" aria-labelledby=${`client-${at}`}><p class="snippet">${text}
      <${Button} class="btn small icon quiet" icon="copy" aria-label=${`Copy the text for ${name}`}
        onClick=${() => copy(text)} /></p></div></div>`;
}

// Whether the person is writing the first memory. The list must not take the place of the text meanwhile.
export const isWriting = () => Boolean(document.getElementById("first")?.value);

function Waiting() {
  usePoll(async () => {
    const { memories } = await call("list_memories", { limit: 1 });
    if (memories.length && !isWriting()) go("/");
    return memories.length > 0;
  });
  return html`<p class="live" role="status">Waiting for the first memory; it will appear here</p>`;
}

// Throw an error if a memory was not stored. `status` is the state of its request, and `error` the reason of a failure.
export function checkStored({ status, error }) {
  if (status === "failed" || status === "dead_lettered") throw new Error(`Not stored: ${error ?? "see Activity"}`);
}

function First() {
  const [text, setText] = useState("");
  const field = useRef(null);
  useRequired(field, text);
  const storing = useChange("Add", async () => {
    const { href } = location;
    checkStored(await call("ingest_memory", { content: text, wait: 5 }));
    setText("");
    if (location.href === href) go("/"); // the person may have left the page
  });
  const submit = (event) => {
    event.preventDefault();
    if (!storing.busy && field.current.reportValidity()) storing.run();
  };
  const onKeyDown = (event) =>
    event.key === "Enter" && (event.ctrlKey || event.metaKey) && !isComposed(event) && submit(event);
  return html`<div class="stack"><h2>Or write the first one</h2><form class="stack" onSubmit=${submit}>
    <label class="sr" for="first">What should be remembered?</label>
    <textarea class="input" id="first" rows="2" dir="auto" required ref=${field}
      placeholder="I take my tea without milk." value=${text}
      onInput=${(event) => setText(event.target.value)} onKeyDown=${onKeyDown}></textarea>
    <div class="btns"><${Button} class="btn main" type="submit" busy=${storing.busy}>Add</>
      <span class="help wide"><kbd>Ctrl</kbd><kbd>Enter</kbd></span></div><${Problem}
        error=${storing.error} /></form></div>`;
}
