// MCP App: shows results of memory_search and get_memory in a conversation. It talks to its host only, and shows stored
// text as text. https://github.com/modelcontextprotocol/ext-apps, revision 2026-01-26.
import { formatTime } from "./time.js";

const PROTOCOL = "2026-01-26";
const MOST_HEIGHT = 500;
const MOST_CHARACTERS = 300;

const view = document.getElementById("view");
const status = document.getElementById("status");

// `requests` has the open requests to the host by id, `first` the search or the memory that the host has sent,
// `opening` the id of the memory that was opened last and has not arrived, and `height` the height that the host knows.
const state = { requests: new Map(), number: 0, mayCall: false, first: null, opening: null, height: 0 };

const send = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
const notify = (method, params = {}) => send({ method, params });
const request = (method, params) => new Promise((resolve, reject) => {
  state.number += 1;
  state.requests.set(state.number, { resolve, reject });
  send({ id: state.number, method, params });
});

// Make an element. Strings among the children become text, never markup.
function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...present(children));
  return made;
}

// Leave out children whose condition does not hold.
const present = (children) => children.filter((child) => ![null, undefined, "", false].includes(child));

function show(title, ...body) {
  state.opening = null; // a memory that was opened earlier, and arrives later, must not replace this view
  status.textContent = "";
  const heading = element("h1", { textContent: title, tabIndex: -1, dir: "auto" });
  const icon = document.getElementById("icon").content.cloneNode(true);
  view.replaceChildren(element("header", {}, icon, heading), ...present(body));
  sendHeight();
  return heading;
}

// Let a screen reader say what the view shows. After a click, the heading gets the focus instead. The whole view is not
// a live region, because a screen reader would then read complete memories.
function say({ textContent: title }) {
  const problem = view.querySelector(".problem")?.textContent;
  status.textContent = problem ? `${title}: ${problem}` : title;
}

const note = (...children) => element("p", { className: "note" }, ...children);

function summary({ confidence, timestamp, tags, superseded_by: successor }) {
  const match = typeof confidence === "string" && `${confidence} match`;
  const parts = [match, formatTime(timestamp), Array.isArray(tags) && tags.join(", "), successor && "superseded"];
  return note(parts.filter(Boolean).join(" · "));
}

// Links to memories that a result replaces or is shown instead of.
function others(name, ids) {
  if (!Array.isArray(ids) || !ids.length) return null;
  const link = (id) => (state.mayCall ? element("button", { textContent: id, onclick: () => read(id) }) : id);
  return note(`${name} `, ...ids.flatMap((id) => [link(id), " "]));
}

// Cut a long text. A character of two UTF-16 units is not cut in half, because a half would be shown as �.
const shorten = (text) =>
  (text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS).replace(/\p{Cs}$/u, "")}…` : text);

// A note with the past time whose state is shown. Nothing is shown if the state is the current one (no `moment`).
const past = (moment) => moment && note(`As of ${formatTime(moment)}`);

function showList(results) {
  const { memories, window: times, as_of: moment, degraded } = results;
  const count = memories.length === 1 ? "1 memory" : `${memories.length} memories`;
  const end = (time) => (time ? formatTime(time) : "…");
  const range = times ? `, ${end(times.after)} to ${end(times.before)}` : "";
  const texts = present([results.nothing_close, results.closer_hits, degraded, results.more]);
  const notes = [past(moment), ...texts.map((text) => note(text))];
  return show(`${count}${range}`, ...notes, element("ol", {}, ...memories.map(entry)));
}

function entry(memory) {
  const title = memory.title || "Untitled";
  const link = state.mayCall ? element("button", { textContent: title, onclick: () => read(memory.id) }) : title;
  const text = memory.snippet ?? memory.content ?? "";
  return element("li", { className: "hit" },
    element("h2", { dir: "auto", lang: "" }, link),
    text && element("p", { dir: "auto", lang: "" }, shorten(text)),
    summary(memory),
    others("Replaces", memory.supersedes),
    others("Near-duplicates:", memory.near_duplicates));
}

// A button for the way back from another memory.
function backToFirst(shown) {
  const { first } = state;
  if (!first || first === shown) return null;
  const [name, showIt] = isList(first) ? ["Back to results", showList] : ["Back to the first memory", showMemory];
  return element("button", { textContent: name, onclick: () => showIt(first).focus() });
}

// A text that scrolls, also by keyboard. The language of stored texts is unknown.
function scrollable(text) {
  const content = element("pre", { textContent: text, tabIndex: 0, dir: "auto", lang: "" });
  content.setAttribute("role", "group");
  content.setAttribute("aria-label", "Content");
  return content;
}

function showMemory(memory) {
  const heading = show(memory.title || "Untitled",
    past(memory.as_of),
    summary(memory),
    scrollable(memory.content),
    others("Replaced by", memory.superseded_by && [memory.superseded_by]),
    others("Replaces", memory.supersedes),
    backToFirst(memory));
  heading.lang = "";
  return heading;
}

const showError = (text) => show("Error", element("p", { className: "problem", textContent: text }), backToFirst());
const textOf = (result) => (result.content ?? []).map((block) => block.text ?? "").join("\n");

const isList = (structured) => Array.isArray(structured?.memories);

function showFirst(result) {
  const structured = result?.structuredContent;
  const isShown = !result?.isError && (isList(structured) || structured?.content !== undefined);
  state.first = isShown ? structured : null;
  say(showResult(result));
}

function showResult(result = {}) {
  if (result.isError) return showError(textOf(result));
  const structured = result.structuredContent;
  if (isList(structured)) return showList(structured);
  if (structured?.content !== undefined) return showMemory(structured);
  return show("Memory", scrollable(textOf(result)));
}

// Open a memory. Only the memory that was opened last is shown: a slow answer must not replace it.
async function read(id) {
  if (state.opening === id) return;
  state.opening = id;
  const moment = state.first?.as_of;
  const args = { id, ...(moment && { as_of: moment }) };
  const result = await request("tools/call", { name: "get_memory", arguments: args })
    .catch(({ message }) => ({ isError: true, content: [{ text: message }] }));
  if (state.opening === id) showResult(result).focus();
}

// Tell the host the height; the width is the host's choice. Each height is sent once, because a host that animates its
// frame resizes the view at every step.
function sendHeight() {
  const height = Math.min(Math.ceil(view.scrollHeight), MOST_HEIGHT);
  if (height === state.height) return;
  state.height = height;
  notify("ui/notifications/size-changed", { height });
}

function applyContext(context) {
  if (context?.theme) document.documentElement.className = context.theme;
}

const NOTIFICATIONS = {
  "ui/notifications/tool-result": showFirst,
  "ui/notifications/tool-cancelled": () => say(show("The call was cancelled.")),
  "ui/notifications/host-context-changed": applyContext,
};
const REQUESTS = { "ui/resource-teardown": () => ({}), ping: () => ({}) };
const NOT_FOUND = { code: -32601, message: "Method not found" };

function answer({ id, method }) {
  const isKnown = Object.hasOwn(REQUESTS, method);
  send({ id, ...(isKnown ? { result: REQUESTS[method]() } : { error: NOT_FOUND }) });
}

function settle({ id, error, result }) {
  const open = state.requests.get(id);
  state.requests.delete(id);
  if (error) open?.reject(new Error(error.message));
  else open?.resolve(result);
}

addEventListener("message", ({ source, data }) => {
  if (source !== parent || data?.jsonrpc !== "2.0") return;
  if (!data.method) settle(data);
  else if (data.id !== undefined) answer(data);
  else if (Object.hasOwn(NOTIFICATIONS, data.method)) NOTIFICATIONS[data.method](data.params);
});

request("ui/initialize", {
  protocolVersion: PROTOCOL,
  appInfo: { name: "mnemosyne", version: "1" },
  appCapabilities: { availableDisplayModes: ["inline"] },
}).then((host) => {
  state.mayCall = Boolean(host.hostCapabilities?.serverTools);
  applyContext(host.hostContext);
  notify("ui/notifications/initialized");
  addEventListener("resize", sendHeight);
}, (error) => say(showError(error.message)));
