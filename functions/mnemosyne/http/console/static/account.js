// Who calls: a key for this tab, or a log-in where there is an authorization server.
import { html, useEffect, useState } from "./vendor/htm-preact.js";
import { authorizationServer, logIn, logOut, refresh } from "./log_in.js";
import { setCredential } from "./mcp.js";
import { Problem, useAction } from "./parts.js";

const EARLY_SECONDS = 60;
const RETRY_SECONDS = 10;

let session = null; // of who has logged in: the server, the tokens, and when the next ones are due

function keep(server, held) {
  clearTimeout(session?.due);
  setCredential(held.access_token);
  const seconds = Math.max(1, held.expires_in - EARLY_SECONDS);
  session = { server, held, due: setTimeout(renew, seconds * 1000) };
}

let renewing = null; // one at a time: a refresh token that is used twice ends the whole grant

// Have the next token of a log-in; whether there is one. Who was logged in still is where the server could not be asked.
export function renew() {
  renewing ??= renewed().finally(() => (renewing = null));
  return renewing;
}

async function renewed() {
  if (!session) return false;
  const { server, held } = session;
  try {
    const given = await refresh(server, held);
    if (session?.held !== held) return false; // logged out meanwhile
    keep(server, given);
    return true;
  } catch (error) {
    if (session?.held !== held) return false;
    if (error instanceof TypeError) session.due = setTimeout(renew, RETRY_SECONDS * 1000);
    else forget();
    return false;
  }
}

function forget() {
  clearTimeout(session?.due);
  session = null;
  setCredential("");
}

// Forget the credential, and end what a log-in was given.
export async function leave() {
  const left = session;
  forget();
  if (left) await logOut(left.server, left.held).catch(() => null);
}

// `again` where somebody was logged in, and their page waits.
export function LogIn({ refused, again, onCredential }) {
  const [key, setKey] = useState("");
  const [tried, setTried] = useState(false);
  const [server, setServer] = useState(null);
  useEffect(() => void authorizationServer().then(setServer, () => setServer(null)), []);
  const opening = useAction(async () => {
    keep(server, await logIn(server));
    await onCredential();
  });
  const submit = (event) => {
    event.preventDefault();
    setCredential(key.trim());
    setKey("");
    onCredential().then(() => setTried(true));
  };
  if (refused.status !== 401 && refused.status !== 403)
    return html`<h1 tabindex="-1">Not now</h1><${Problem} error=${refused} /><button onClick=${onCredential}>Try again</button>`;
  return html`
    <h1 tabindex="-1">Who are you?</h1>
    ${again && html`<p role="alert">You have been logged out. Your page waits, and goes on once you are back.</p>`}
    ${server && html`
      <p>Log in, and allow this page to use your memory.</p>
      <button onClick=${opening.run} disabled=${opening.busy}>Log in</button>
      <${Problem} error=${opening.error} />
      <h2>Or with a key</h2>`}
    <form onSubmit=${submit}>
      <label for="key">API key</label>
      <input id="key" type="password" autocomplete="off" value=${key} onInput=${(event) => setKey(event.target.value)} required />
      <p class="note">It is kept in this tab's memory, and forgotten with it.</p>
      <button>Use it</button>
    </form>
    <${Problem} error=${tried || refused.status === 403 ? refused : null} />
  `;
}
