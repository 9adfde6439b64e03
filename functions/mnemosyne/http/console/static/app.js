// The console: which page stands for which address, who is logged in, and what a page is given.
import { html, render, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { leave, LogIn, renew } from "./account.js";
import { forgetLists, useAddress } from "./address.js";
import { Files } from "./files.js";
import { Figures } from "./figures.js";
import { hasCredential, onUnauthorized, Refused, tools } from "./mcp.js";
import { Memory } from "./memory.js";
import { Newest } from "./newest.js";
import { Outcomes } from "./outcomes.js";
import { Heading } from "./parts.js";
import { Search } from "./search.js";
import { Store } from "./store.js";

const PAGES = [
  { path: "/", name: "Search", page: Search, tool: "memory_search" },
  { path: "/newest", name: "Newest", page: Newest, tool: "list_memories" },
  { path: "/store", name: "Store", page: Store, tool: "ingest_memory" },
  { path: "/files", name: "Files", page: Files, tool: "export_memories" },
  { path: "/outcomes", name: "Outcomes", page: Outcomes, tool: "list_requests" },
  { path: "/figures", name: "Figures", page: Figures, tool: "memory_stats" },
];
const MEMORY = { page: Memory, tool: "get_memory" };

// After a link the keyboard goes on from the heading of the page that it led to.
function useFocus(path) {
  const before = useRef(path);
  useEffect(() => {
    if (before.current !== path) document.querySelector("h1")?.focus({ preventScroll: true });
    before.current = path;
  }, [path]);
}

// A part of the address as text, or as it stands if it encodes none.
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const NotAllowed = ({ may }) => html`<div><${Heading}>Not allowed</>
  <p>${may.size ? "Your key does not let you see this page. Those that it does stand above." : "Your key lets you do nothing here: it needs the scope read or write."}</p></div>`;

function Page({ address, may }) {
  const [, id] = address.pathname.match(/^\/memories\/(.+)$/) ?? [];
  const found = id ? MEMORY : PAGES.find((one) => one.path === address.pathname);
  if (!found) return null;
  // Who may only store begins there, not at a search.
  const first = address.pathname === "/" && !address.search && PAGES.find((one) => may.has(one.tool));
  const shown = may.has(found.tool) ? found : first;
  if (!shown) return html`<${NotAllowed} may=${may} />`;
  return html`<${shown.page} key=${id ?? shown.path} id=${id && decoded(id)} address=${address} may=${may} />`;
}

// Who may do what: the tools that may be called, the refusal where somebody has to log in, and how often they did.
function useAccount() {
  const [may, setMay] = useState(null);
  const [refused, setRefused] = useState(null);
  const [logIns, setLogIns] = useState(0);
  const waiting = useRef([]); // calls that were refused: they end once somebody, perhaps another, has logged in
  const look = async () => {
    try {
      const names = await tools();
      if (waiting.current.length) forgetLists(); // they may be another person's
      setMay(names);
      setRefused(null);
      if (!waiting.current.length) return;
      setLogIns((before) => before + 1);
      for (const fail of waiting.current.splice(0)) fail(new Refused("You have logged in again: do it once more.", 401));
    } catch (error) {
      setRefused(error);
    }
  };
  useEffect(() => {
    const ask = (error) => new Promise((_, fail) => (waiting.current.push(fail), setRefused(error)));
    onUnauthorized(async (error, times) => (times === 0 && (await renew())) || ask(error));
    look();
  }, []);
  return { may, refused, logIns, look };
}

function App() {
  const { address, times } = useAddress();
  const { may, refused, logIns, look } = useAccount();
  useFocus(address.pathname);
  return html`
    <header>
      <a class="skip" href="#main">To the page</a>
      <strong>Mnemosyne</strong>
      ${may && html`<nav aria-label="Pages">${PAGES.filter((one) => may.has(one.tool)).map(
        (one) => html`<a href=${one.path} aria-current=${one.path === address.pathname ? "page" : null}>${one.name}</a>`,
      )}</nav>`}
      ${may && hasCredential() && html`<button class="other end" onClick=${() => leave().then(() => location.reload())}>Log out</button>`}
    </header>
    <main id="main">
      ${refused && html`<${LogIn} refused=${refused} again=${Boolean(may)} onCredential=${look} />`}
      ${may && html`<div hidden=${Boolean(refused)}><${Page} key=${`${times} ${logIns}`} address=${address} may=${may} /></div>`}
    </main>
  `;
}

render(html`<${App} />`, document.getElementById("app"));
