// Memories in a conversation: an MCP App, which speaks with its host alone and shows what was stored as text.
// https://github.com/modelcontextprotocol/ext-apps, revision 2026-01-26.
const PROTOCOL = "2026-01-26";
const MOST_HEIGHT = 500;
const MOST_SHOWN = 300;
const STAMP = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

const view = document.getElementById("view");
const waiting = new Map();
let number = 0;
let mayCall = false;
let found = null;
let toldHeight = 0;

const send = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
const notify = (method, params = {}) => send({ method, params });
const ask = (method, params) => new Promise((done, failed) => {
  waiting.set(++number, { done, failed });
  send({ id: number, method, params });
});

// An element with its children; texts become texts, whatever stands in them.
function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...there(children));
  return made;
}

// A condition that does not hold leaves nothing behind.
const there = (children) => children.filter((child) => child !== null && child !== undefined && child !== "" && child !== false);

function show(title, ...body) {
  const heading = element("h1", { textContent: title, tabIndex: -1 });
  const icon = document.getElementById("icon").content.cloneNode(true);
  view.replaceChildren(element("header", {}, icon, heading), ...there(body));
  tellSize();
  return heading;
}

const stamp = (at) => (Number.isNaN(Date.parse(at)) ? at : STAMP.format(new Date(at)));
const note = (memory) => element("p", { className: "note" }, [
  stamp(memory.timestamp), Array.isArray(memory.tags) && memory.tags.join(", "), memory.superseded_by && "superseded",
].filter(Boolean).join(" · "));

// Memories that one stands for: earlier ones, and those left out because they state the same.
const others = (said, ids) => Array.isArray(ids) && ids.length > 0 && element("p", { className: "note" },
  `${said} `, ...ids.map((id) => (mayCall
    ? element("button", { textContent: id, onclick: () => read(id) })
    : `${id} `)));

const shortened = (text) => (text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text);

function list(result) {
  found = result;
  const span = result.window ? `, ${result.window.after ?? "…"} to ${result.window.before ?? "…"}` : "";
  const count = result.memories.length;
  return show(`${count === 1 ? "1 memory" : `${count} memories`}${span}`, element("ol", {}, ...result.memories.map((memory) => {
    const title = memory.title || "Untitled";
    const heading = mayCall ? element("button", { textContent: title, onclick: () => read(memory.id) }) : title;
    const text = memory.snippet ?? memory.content ?? "";
    return element("li", { className: "hit" }, element("h2", { dir: "auto" }, heading), text && element("p", { dir: "auto" }, shortened(text)), note(memory),
      others("Replaces", memory.supersedes),
      others("Left out, but for white space or a full stop the same:", memory.near_duplicates));
  })));
}

function detail(memory) {
  const back = found && element("button", { textContent: "Back to what was found", onclick: () => list(found).focus() });
  const content = element("pre", { textContent: memory.content, tabIndex: 0, dir: "auto" });
  content.setAttribute("aria-label", "Content");
  return show(memory.title || "Untitled", note(memory), content,
    memory.superseded_by && element("p", { className: "note" }, "A newer memory replaces this one."),
    others("Replaces", memory.supersedes), back);
}

const problem = (text) => show("That did not work", element("p", { className: "problem", textContent: text }));
const textOf = (result) => (result.content ?? []).map((block) => block.text ?? "").join("\n");

function shown(result = {}) {
  if (result.isError) return problem(textOf(result));
  const structured = result.structuredContent;
  if (Array.isArray(structured?.memories)) return list(structured);
  if (structured?.content !== undefined) return detail(structured);
  return show("Memory", element("pre", { textContent: textOf(result) }));
}

async function read(id) {
  try {
    shown(await ask("tools/call", { name: "get_memory", arguments: { id } })).focus();
  } catch (error) {
    problem(error.message);
  }
}

// How high it is; how wide is the host's to say. Once each, for a host that animates its frame resizes us at every step.
function tellSize() {
  const height = Math.min(Math.ceil(view.scrollHeight), MOST_HEIGHT);
  if (height === toldHeight) return;
  toldHeight = height;
  notify("ui/notifications/size-changed", { height });
}

function inContext(context) {
  if (context?.theme) document.documentElement.className = context.theme;
}

const NOTIFIED = {
  "ui/notifications/tool-result": shown,
  "ui/notifications/tool-cancelled": () => show("It was not looked for."),
  "ui/notifications/host-context-changed": inContext,
};
const ASKED = { "ui/resource-teardown": () => ({}), ping: () => ({}) };

addEventListener("message", ({ source, data }) => {
  if (source !== parent || data?.jsonrpc !== "2.0") return;
  const own = (handlers) => (Object.hasOwn(handlers, data.method) ? handlers[data.method] : null);
  if (data.method && data.id === undefined) return void own(NOTIFIED)?.(data.params);
  if (data.method) {
    const answer = own(ASKED);
    return void send({ id: data.id, ...(answer ? { result: answer() } : { error: { code: -32601, message: "Method not found" } }) });
  }
  const asked = waiting.get(data.id);
  waiting.delete(data.id);
  if (data.error) asked?.failed(new Error(data.error.message));
  else asked?.done(data.result);
});

const hello = { protocolVersion: PROTOCOL, appInfo: { name: "mnemosyne", version: "1" }, appCapabilities: { availableDisplayModes: ["inline"] } };
ask("ui/initialize", hello).then((host) => {
  mayCall = Boolean(host.hostCapabilities?.serverTools);
  inContext(host.hostContext);
  notify("ui/notifications/initialized");
  addEventListener("resize", tellSize);
}, (error) => problem(error.message));
