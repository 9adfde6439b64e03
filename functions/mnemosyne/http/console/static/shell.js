// The frame of all pages: navigation, account menu, the foot with messages and the bulk bar, and the note about an
// outage.
import { html, useEffect, useState } from "./vendor/htm-preact.js";
import { Button, Dialog, Icon, Menu, Note } from "./components.js";
import { countFailures, countUnseen, failures, isReachable, loadPerson, person, seen } from "./health.js";
import { Logo } from "./icons.js";
import { client } from "./mcp.js";
import { observable, useValue } from "./observable.js";
import { usePoll } from "./poll.js";
import { hasSingleKeys, setSingleKeys, setTheme, theme, THEME_NAMES, themeAfter } from "./preferences.js";
import { Toast } from "./toast.js";
import { ImportProgress } from "./import_progress.js";

// The bar of actions on picked items, above the message; null if nothing is picked.
const bulkBar = observable(null);

// Show a bar of actions, unless it is false.
export function useBar(bar) {
  useEffect(() => bulkBar.set(bar || null));
  useEffect(() => () => bulkBar.set(null), []);
}

const MOST_PAUSE = 30;
const FAILURE_SECONDS = 60;
const host = () => location.host;

export function Top({ pages, may, path, onHelp, onLogOut }) {
  const canAdd = may.has("ingest_memory");
  return html`<header class="top"><div class="top-in">
    <a class="brand" href="/" aria-label="Mnemosyne"><${Logo} /><span>Mnemosyne</span></a>
    <nav class="nav" aria-label="Pages">${pages.map((page) => html`<${PageLink} page=${page} path=${path} />`)}</nav>
    <div class="top-end">
      <${Where} />
      <${Account} ...${{ may, onHelp, onLogOut }} />
      ${canAdd && html`<a class="btn main wide" href="/add"><${Icon} name="plus" small />Add</a>`}
    </div></div></header>`;
}

// Mark the current page in the navigation. Memories is also marked on the page of one memory and on its edit form.
function current(page, path) {
  if (page.path === path) return "page";
  return page.path === "/" && path.startsWith("/memories/") ? "true" : null;
}

function PageLink({ page, path }) {
  const count = countUnseen(useValue(failures), useValue(seen));
  const badge = page.path === "/activity" && count > 0;
  return html`<a href=${page.path} aria-current=${current(page, path)}>${page.name}${badge && html`
    <span class="badge bad num">${count}<span class="sr"> new failures</span></span>`}</a>`;
}

function Where() {
  const isThere = useValue(isReachable);
  const { namespace } = useValue(person) ?? {};
  const name = isThere ? namespace ?? "Connected" : "No connection";
  return html`<span class="where" title=${isThere ? `Connected to ${host()}` : "The server cannot be reached"}>
    <span class=${isThere ? "dot" : "dot off"}></span>
    ${isThere && namespace && html`<span class="sr">Connected, namespace </span>`}<span>${name}</span></span>`;
}

function Account({ may, onHelp, onLogOut }) {
  const name = useValue(theme);
  const singleKeys = useValue(hasSingleKeys);
  const label = html`<${Icon} name="user" />`;
  return html`<${Menu} label="Account and appearance" kind="btn quiet icon" summary=${label}>
    <button onClick=${() => setTheme(themeAfter(name))}><${Icon} name="half" /><span>
      Appearance: ${THEME_NAMES[name]}</span></button>
    <button onClick=${onHelp}><${Icon} name="help" />Keyboard<kbd>?</kbd></button>
    <button aria-pressed=${String(singleKeys)} onClick=${() => setSingleKeys(!singleKeys)}>
      <${Icon} name=${singleKeys ? "check" : "x"} />Single-key shortcuts: ${singleKeys ? "on" : "off"}</button>
    ${may.has("list_memories") && html`<a href="/connect"><${Icon} name="link" />Connect a client</a>`}
    ${client.hasCredential() && html`<hr /><button onClick=${onLogOut}><${Icon} name="out" />Log out</button>`}
  </>`;
}

// Navigation on phones: three pages, Add, and a menu with the other pages.
export function TabBar({ pages, may, path }) {
  const [first, rest] = [pages.filter(({ tab }) => tab), pages.filter(({ tab }) => !tab)];
  const tab = (page) => html`<a href=${page.path} aria-current=${current(page, path)}>
    <${Icon} name=${page.icon} />${page.name}</a>`;
  const add = may.has("ingest_memory") && html`<a href="/add" class="add" aria-label="Add">
    <${Icon} name="plus" /></a>`;
  const isRest = rest.some((page) => page.path === path);
  return html`<nav class="tabbar" aria-label="Pages, short">
    ${first.slice(0, 2).map(tab)}${add}${first.slice(2).map(tab)}
    ${rest.length > 0 && html`<${Menu} up kind="" current=${isRest} summary=${html`<${Icon} name="list" />More`}>
      ${rest.map((page) => html`<a href=${page.path} aria-current=${current(page, path)}>
        <${Icon} name=${page.icon} />${page.name}</a>`)}
      <a href="/connect"><${Icon} name="link" />Connect a client</a></>`}</nav>`;
}

export const Foot = () => html`<div class="floor" aria-live="polite">${useValue(bulkBar)}<${ImportProgress} />
  <${Toast} /></div>`;

// Keep the badge of Activity up to date: count failed requests again and again. If the person's data could not be
// loaded before, load these, too.
export function Watch({ may }) {
  useEffect(() => void countFailures(may).catch(() => null), [may]);
  usePoll(async () => {
    if (!person.get()) await loadPerson(may);
    return countFailures(may);
  }, FAILURE_SECONDS);
  return null;
}

// A note that is shown while the server does not respond. It calls the server again at growing intervals.
export function Outage() {
  const isThere = useValue(isReachable);
  const [pause, setPause] = useState(2);
  const [left, setLeft] = useState(0);
  const tryAgain = () => {
    client.tools().catch(() => {
      const next = Math.min(pause * 2, MOST_PAUSE);
      setPause(next);
      setLeft(next);
    });
  };
  useEffect(() => {
    if (isThere) return void setPause(2);
    setLeft(pause);
  }, [isThere]);
  useEffect(() => {
    if (isThere) return undefined;
    const timer = setTimeout(() => (left > 0 ? setLeft(left - 1) : tryAgain()), 1000);
    return () => clearTimeout(timer);
  }, [isThere, left]);
  if (isThere) return null;
  const button = html`<${Button} class="btn small" icon="retry" onClick=${tryAgain}>Try now</>`;
  return html`<div class="outage"><${Note} kind="bad" role="alert" button=${button}><p>
    The server is not responding; this page may be out of date.
    <span aria-hidden="true">${left > 0 ? ` Trying again in ${left} s.` : " Trying again …"}</span></p></></div>`;
}

const KEYS = [
  ["Anywhere", [["Search", "/"], ["Search, from any field", "Ctrl", "K"], ["Add a memory", "a"],
    ["Undo the last deletion", "z"], ["This help", "?"], ["Close, clear, go back", "Esc"]]],
  ["In a list", [["Next, previous", "j", "k"], ["Open", "Enter"], ["Pick", "x"], ["Pick up to here", "Shift", "x"],
    ["Tag the picked memories", "t"], ["Delete", "Del"]]],
  ["On a memory", [["Edit title and tags", "e"], ["Next, previous result", "j", "k"],
    ["It helped, it misled", "+", "−"], ["Replace with…", "r"], ["Copy its text", "c"], ["Formatted or source", "s"]]],
  ["While writing", [["Save", "Ctrl", "Enter"]]],
];

export function Help({ onClose }) {
  const row = ([name, ...keys]) => html`<dt>${name}</dt><dd>${keys.map((key) => html`<kbd>${key}</kbd>`)}</dd>`;
  const section = ([name, rows]) => html`<section><h3>${name}</h3><dl>${rows.map(row)}</dl></section>`;
  return html`<${Dialog} title="Keyboard" onClose=${onClose}>
    <div class="keys">${KEYS.map(section)}</div>
    <p class="help">Single letters do nothing while you type. The account menu turns them off.</p></>`;
}
