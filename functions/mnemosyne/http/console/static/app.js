// The console: which page stands for which address, who is logged in, and what a page is given.
import { html, render, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { leave, LogIn, renew } from "./account.js";
import { Files } from "./files.js";
import { Figures } from "./figures.js";
import { hasCredential, onUnauthorized, tools } from "./mcp.js";
import { Memory } from "./memory.js";
import { Newest } from "./newest.js";
import { Outcomes } from "./outcomes.js";
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

// A link within the page is followed without another page being loaded.
function useAddress() {
  const [address, setAddress] = useState(location.pathname + location.search);
  useEffect(() => {
    const changed = () => setAddress(location.pathname + location.search);
    const follow = (event) => {
      const link = event.target.closest?.("a[href^='/']");
      if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      history.pushState(null, "", link.getAttribute("href"));
      changed();
      scrollTo(0, 0);
    };
    addEventListener("popstate", changed);
    document.addEventListener("click", follow);
    return () => {
      removeEventListener("popstate", changed);
      document.removeEventListener("click", follow);
    };
  }, []);
  return new URL(address, location.origin);
}

// What the heading says is what the page is called, and where the keyboard goes on from after a link.
function useTitle(address, ready) {
  const before = useRef(address.pathname);
  useEffect(() => {
    const heading = document.querySelector("h1");
    if (!heading) return;
    document.title = `${heading.textContent} · Mnemosyne`;
    if (before.current !== address.pathname) heading.focus();
    before.current = address.pathname;
  }, [address.href, ready]);
}

// A part of the address as text, or as it stands if it encodes none.
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function App() {
  const address = useAddress();
  const [may, setMay] = useState(null);
  const [refused, setRefused] = useState(null);
  const waiting = useRef([]); // calls that go on once there is a credential again
  const look = () =>
    tools().then(
      (names) => (setRefused(null), setMay(names), waiting.current.splice(0).forEach((goOn) => goOn())),
      setRefused,
    );
  useEffect(() => {
    const ask = (error) => new Promise((goOn) => (waiting.current.push(goOn), setRefused(error)));
    onUnauthorized(async (error, times) => (times === 0 && (await renew())) || ask(error));
    look();
  }, []);
  useTitle(address, may);
  const memory = address.pathname.match(/^\/memories\/(.+)$/);
  const Page = PAGES.find((one) => one.path === address.pathname)?.page;
  const page = memory
    ? html`<${Memory} key=${memory[1]} id=${decoded(memory[1])} may=${may} />`
    : Page && html`<${Page} address=${address} may=${may} />`;
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
      ${may && html`<div hidden=${Boolean(refused)}>${page}</div>`}
    </main>
  `;
}

render(html`<${App} />`, document.getElementById("app"));
