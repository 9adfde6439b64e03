// The console: its pages, their addresses, and the log-in.
import { html, render, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { logOut, LogIn, renew } from "./account.js";
import { forgetLists, useAddress } from "./address.js";
import { Files } from "./files.js";
import { Figures } from "./figures.js";
import { client, Refused } from "./mcp.js";
import { Memory } from "./memory.js";
import { Newest } from "./newest.js";
import { Outcomes } from "./outcomes.js";
import { Heading } from "./components.js";
import { Search } from "./search.js";
import { Store } from "./store.js";

const PAGES = [
  { path: "/", name: "Search", page: Search, tool: "memory_search" },
  { path: "/newest", name: "Newest", page: Newest, tool: "list_memories" },
  { path: "/store", name: "Store", page: Store, tool: "ingest_memory" },
  { path: "/files", name: "Files", page: Files, tool: "export_memories" },
  { path: "/activity", name: "Activity", page: Outcomes, tool: "list_requests" },
  { path: "/overview", name: "Overview", page: Figures, tool: "memory_stats" },
];
const MEMORY = { page: Memory, tool: "get_memory" };

// Move the keyboard's focus to the heading of the page that a link leads to.
function useFocus(path) {
  const before = useRef(path);
  useEffect(() => {
    if (before.current !== path) document.querySelector("h1")?.focus({ preventScroll: true });
    before.current = path;
  }, [path]);
}

// Decode a part of an address. Invalid percent-encoding is returned unchanged.
function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const NO_SCOPE = "Your key has neither the scope read nor write, so no page is available.";
const OTHER_SCOPE = "Your key does not have the scope for this page. The menu has the pages that are available.";
const NotAllowed = ({ may }) => html`<div><${Heading}>Not allowed</><p>${may.size ? OTHER_SCOPE : NO_SCOPE}</p></div>`;

function Page({ address, may }) {
  const [, id] = address.pathname.match(/^\/memories\/(.+)$/) ?? [];
  const wanted = id ? MEMORY : PAGES.find(({ path }) => path === address.pathname);
  if (!wanted) return null;
  // A key that may only write starts at the page Store.
  const first = address.pathname === "/" && !address.search && PAGES.find(({ tool }) => may.has(tool));
  const allowed = may.has(wanted.tool) ? wanted : first;
  if (!allowed) return html`<${NotAllowed} may=${may} />`;
  return html`<${allowed.page} key=${id ?? allowed.path} id=${id && decode(id)} address=${address} may=${may} />`;
}

// The account: `may` has the tools that may be called, `refused` the error if a log-in is needed, and `logIns` is the
// number of log-ins.
function useAccount() {
  const [may, setMay] = useState(null);
  const [refused, setRefused] = useState(null);
  const [logIns, setLogIns] = useState(0);
  const waiting = useRef([]); // rejections of calls that wait for a log-in, which may be another person's
  const load = async () => {
    try {
      const names = await client.tools();
      if (waiting.current.length) forgetLists(); // lists may be another person's
      setMay(names);
      setRefused(null);
      if (!waiting.current.length) return;
      setLogIns((before) => before + 1);
      const error = new Refused("You have logged in again: repeat the action.", 401);
      for (const reject of waiting.current.splice(0)) reject(error);
    } catch (error) {
      setRefused(error);
    }
  };
  useEffect(() => {
    const askToLogIn = (error) => new Promise((_, reject) => {
      waiting.current.push(reject);
      setRefused(error);
    });
    client.onUnauthorized = async (error, attempt) => (attempt === 0 && (await renew())) || askToLogIn(error);
    load();
  }, []);
  return { may, refused, logIns, load };
}

const leave = () => logOut().then(() => location.reload());

function Menu({ may, path }) {
  const links = PAGES.filter(({ tool }) => may.has(tool)).map(
    (page) => html`<a href=${page.path} aria-current=${page.path === path ? "page" : null}>${page.name}</a>`,
  );
  return html`<nav aria-label="Pages">${links}</nav>
    ${client.hasCredential() && html`<button class="other end" onClick=${leave}>Log out</button>`}`;
}

function App() {
  const { address, times } = useAddress();
  const { may, refused, logIns, load } = useAccount();
  useFocus(address.pathname);
  return html`
    <header>
      <a class="skip" href="#main">Skip to content</a>
      <strong>Mnemosyne</strong>
      ${may && html`<${Menu} may=${may} path=${address.pathname} />`}
    </header>
    <main id="main">
      ${refused && html`<${LogIn} refused=${refused} isExpired=${Boolean(may)} onCredential=${load} />`}
      ${may && html`<div hidden=${Boolean(refused)}>
        <${Page} key=${`${times} ${logIns}`} address=${address} may=${may} /></div>`}
    </main>`;
}

render(html`<${App} />`, document.getElementById("app"));
