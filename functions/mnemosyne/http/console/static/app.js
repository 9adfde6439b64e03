// The console: its pages, their addresses, and the log-in.
import {
  html, render, useEffect, useErrorBoundary, useLayoutEffect, useRef, useState,
} from "./vendor/htm-preact.js";
import { isLoggingIn, logOut, LogIn, NotRevoked, renew } from "./account.js";
import { forgetPerson, go, useAddress } from "./address.js";
import { Activity } from "./activity.js";
import { Add, additions, clearDraft } from "./add.js";
import { Audit } from "./audit.js";
import { Connect } from "./connect.js";
import { Edit } from "./edit.js";
import { Forget } from "./forget.js";
import { deletedIds } from "./deletions.js";
import { Heading, Problem } from "./components.js";
import { forgetFailures, isReachable, loadPerson, person } from "./health.js";
import { Icons } from "./icons.js";
import { keepFocus } from "./focus.js";
import { clearExport } from "./export_run.js";
import { clearImports } from "./imports.js";
import { useKeyboard, useKeys } from "./keys.js";
import { client, Refused } from "./mcp.js";
import { Memories } from "./memories.js";
import { Memory } from "./memory.js";
import { Overview } from "./overview.js";
import { Foot, Help, Outage, TabBar, Top, Watch } from "./shell.js";
import { TagList } from "./tag_list.js";
import { clearToast } from "./toast.js";
import { Transfer } from "./transfer.js";
import { forgetChanges } from "./unsaved.js";

const PAGES = [
  { path: "/", name: "Memories", icon: "stack", page: Memories, tool: "list_memories", tab: true },
  { path: "/tags", name: "Tags", icon: "tag", page: TagList, tool: "memory_facets", tab: true },
  { path: "/activity", name: "Activity", icon: "pulse", page: Activity, tool: "list_requests", tab: true },
  { path: "/overview", name: "Overview", icon: "chart", page: Overview, tool: "memory_stats" },
  { path: "/import", name: "Import & export", icon: "transfer", page: Transfer, tool: "export_memories" },
];
const ADD = { path: "/add", page: Add, tool: "ingest_memory" };
const OTHERS = [
  ADD,
  { path: "/connect", page: Connect, tool: "list_memories" },
  { path: "/audit", page: Audit, tool: "list_audit" },
  { path: "/forget", page: Forget, tool: "forget_memories" },
];
const MEMORY = { page: Memory, tool: "get_memory" };
const EDIT = { page: Edit, tool: "update_memory" };

const focusHeading = () => document.querySelector("h1")?.focus({ preventScroll: true });

// Move the keyboard's focus to the heading of the page that a link leads to. If only the parameters of the address
// change, do so if the element with the focus was removed, such as the chip of a filter.
function useFocus({ href, pathname }) {
  const before = useRef({ href, pathname });
  useEffect(() => {
    const { activeElement } = document;
    const isTaken = before.current.pathname === pathname ? activeElement !== document.body
      : activeElement?.matches("input, textarea");
    if (before.current.href !== href && !isTaken) focusHeading();
    before.current = { href, pathname };
  }, [href]);
}

// Skip the navigation. The browser would add "#main" to the address, by which lists are saved and loaded.
function skip(event) {
  event.preventDefault();
  focusHeading();
}

// Decode a part of an address. Invalid percent-encoding is returned unchanged.
function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const NO_SCOPE = "Your key has neither the scope read nor write, so the menu has no pages.";
const OTHER_SCOPE = "Your key does not have the scope for this page. The menu has the pages that are available.";
const NotAllowed = ({ may }) => html`<div class="narrow stack"><${Heading}>Not allowed</>
  <p>${[...PAGES, ADD].some(({ tool }) => may.has(tool)) ? OTHER_SCOPE : NO_SCOPE}</p></div>`;

function Page({ address, may }) {
  const [, id, edit] = address.pathname.match(/^\/memories\/([^/]+)(\/edit)?$/) ?? [];
  const memory = edit ? EDIT : MEMORY;
  const wanted = id ? memory : [...PAGES, ...OTHERS].find(({ path }) => path === address.pathname);
  if (!wanted) return null;
  // If a key has only the scope `write`, the first page is Add.
  const first = address.pathname === "/" && !address.search && [...PAGES, ADD].find(({ tool }) => may.has(tool));
  const allowed = may.has(wanted.tool) ? wanted : first;
  if (!allowed) return html`<${NotAllowed} may=${may} />`;
  const key = id ? `${id}${edit ?? ""}` : allowed.path;
  return html`<${allowed.page} key=${key} id=${id && decode(id)} address=${address} may=${may} />`;
}

// If a page throws an error while it is rendered, show the error in its place until the person opens another address.
// Without this, the whole console would be empty.
function Guard({ href, children }) {
  const [error, reset] = useErrorBoundary();
  const before = useRef(href);
  useLayoutEffect(() => {
    if (error && before.current !== href) reset();
    before.current = href;
  }, [href]);
  if (!error) return children;
  return html`<div class="narrow stack"><${Heading}>This page cannot be shown</><${Problem} error=${error} /></div>`;
}

const FORGETS = [
  clearDraft, clearExport, clearImports, clearToast, forgetChanges, forgetFailures, forgetPerson,
];

// The state of the account:
//   may      the names of the tools that the caller may call
//   refused  the error that is shown with the log-in form; null while no log-in is needed
//   logIns   the number of log-ins that may have changed the namespace
function useAccount() {
  const [may, setMay] = useState(null);
  const [refused, setRefused] = useState(null);
  const [logIns, setLogIns] = useState(0);
  const waiting = useRef([]); // calls that wait for a log-in, which may be another person's
  const resumeCalls = async (namespace) => {
    const isSame = namespace !== undefined && namespace === person.get()?.namespace;
    const error = new Refused("You have logged in again: repeat the action.", 401);
    for (const { resolve, reject } of waiting.current.splice(0)) (isSame ? resolve : reject)(error);
    if (isSame) return; // the page stays as it is, with all that was typed, added and deleted
    deletedIds.set(new Set());
    additions.set([]);
    for (const forget of FORGETS) forget();
    setLogIns((before) => before + 1);
  };
  const load = async () => {
    try {
      const names = await client.tools();
      const { namespace } = person.get() ?? {};
      const loading = loadPerson(names);
      // After another log-in, the page is kept only if the namespace is the same. So wait until the namespace is
      // loaded. If the loading fails, the button `Try again` repeats it.
      if (may) await loading.then(() => resumeCalls(namespace));
      else loading.catch(() => null); // the component Watch loads the person again
      setMay(names);
      setRefused(null);
    } catch (error) {
      setRefused(error);
    }
  };
  useEffect(() => {
    const askToLogIn = (error) => new Promise((resolve, reject) => {
      waiting.current.push({ resolve, reject, logIns: client.logIns });
      setRefused(error);
    });
    // The renewal of the credential may succeed while the form is shown. Then the form is not needed any longer, unless
    // the person uses it. Calls that began before another log-in wait until it is known who has logged in.
    client.onRenew = () => {
      const { current: calls } = waiting;
      if (!calls.length || isLoggingIn() || calls.some((one) => one.logIns !== client.logIns)) return;
      for (const { resolve } of waiting.current.splice(0)) resolve();
      setRefused(null);
    };
    client.onUnauthorized = async (error, attempt) => (attempt === 0 && (await renew())) || askToLogIn(error);
    client.onReach = (isThere) => isThere !== isReachable.get() && isReachable.set(isThere);
    load();
  }, []);
  return { may, refused, logIns, load };
}

function focusSearch() {
  const field = document.querySelector("main .search input");
  if (field) field.focus();
  else go("/");
}

// Shortcuts do nothing while a log-in hides the page.
function useShortcuts(may, isOn, onHelp) {
  useKeys({
    "/": focusSearch,
    "Ctrl+k": focusSearch,
    a: () => (may.has("ingest_memory") ? go("/add") : false),
    "?": onHelp,
  });
  useKeyboard(isOn);
}

// Close open dialogs during a log-in, and open them again afterwards. A modal dialog would block the log-in form, even
// though the dialog is hidden together with its page. Move the focus to the form, and back to the page afterwards.
function useDialogs(refused) {
  const closed = useRef([]);
  const focus = useRef(null); // the element that had the focus before the log-in; null without a log-in
  useLayoutEffect(() => {
    const before = focus.current;
    if (!refused && !before) return;
    const { activeElement } = document;
    const dialogs = refused ? [...document.querySelectorAll("dialog[open]")] : closed.current.splice(0);
    if (refused) closed.current.push(...dialogs);
    for (const dialog of dialogs.filter(({ isConnected }) => isConnected)) dialog[refused ? "close" : "showModal"]();
    focus.current = refused ? before ?? activeElement : null;
    if (!refused) before.focus({ preventScroll: true });
    if (refused ? !before && activeElement !== document.body : document.activeElement === document.body) focusHeading();
  }, [refused]);
}

function App() {
  const { address, times } = useAddress();
  const { may, refused, logIns, load } = useAccount();
  const [hasHelp, setHasHelp] = useState(false);
  const [notRevoked, setNotRevoked] = useState(null);
  const path = address.pathname;
  useFocus(address);
  const isIn = Boolean(may && !refused && !notRevoked);
  const help = () => setHasHelp(true);
  // Log out and load the page again. A deletion that still waits does not happen, because a closed page sends nothing.
  const leave = async () => {
    const left = await logOut();
    if (left) setNotRevoked(left);
    else location.reload();
  };
  useShortcuts(may, isIn, help);
  useDialogs(refused);
  const pages = may ? PAGES.filter(({ tool }) => may.has(tool)) : [];
  if (notRevoked) return html`<${Icons} /><${NotRevoked} ...${notRevoked} />`;
  return html`<${Icons} />
    ${refused && html`<${LogIn} refused=${refused} isExpired=${Boolean(may)} onCredential=${load} />`}
    ${may && html`<div hidden=${!isIn} class="app">
      <a class="skip" href="#main" onClick=${skip}>Skip to content</a>
      <${Top} ...${{ pages, may, path }} onHelp=${help} onLogOut=${leave} />
      <main id="main"><${Outage} />
        <${Guard} key=${`${times} ${logIns}`} href=${address.href}>
          <${Page} address=${address} may=${may} /></></main>
      <${TabBar} ...${{ pages, may, path }} />
      <${Watch} key=${logIns} may=${may} /></div>`}
    ${isIn && html`<${Foot} />`}
    ${hasHelp && html`<${Help} onClose=${() => setHasHelp(false)} />`}`;
}

keepFocus();
render(html`<${App} />`, document.getElementById("app"));
