// Who calls: a key for this tab, or a log-in where there is an authorization server.
import { html, useEffect, useState } from "./vendor/htm-preact.js";
import { authorizationServer, logIn, logOut, refresh } from "./log_in.js";
import { logInWith, renewWith } from "./mcp.js";
import { Button, Heading, Problem, useAction } from "./parts.js";

const EARLY_SECONDS = 60;
const RETRY_SECONDS = 10;

let session = null; // of who has logged in: the server, the tokens, and when the next ones are due

function keep(server, held) {
  clearTimeout(session?.due);
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
    if (session?.held !== held) {
      await logOut(server, given); // logged out meanwhile
      return false;
    }
    renewWith(given.access_token);
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
}

// Forget the credential, and end what a log-in was given.
export async function leave() {
  const left = session;
  forget();
  logInWith("");
  if (left) await logOut(left.server, left.held).catch(() => null);
}

// `again` where somebody was logged in, and their page waits.
export function LogIn({ refused, again, onCredential }) {
  const [key, setKey] = useState("");
  const [tried, setTried] = useState(false);
  const [server, setServer] = useState(null);
  useEffect(() => void authorizationServer().then(setServer, () => setServer(null)), []);
  const opening = useAction(async () => {
    const held = await logIn(server);
    forget();
    logInWith(held.access_token);
    keep(server, held);
    await onCredential();
  });
  const using = useAction(async () => {
    const wrong = key.match(/[^\x21-\x7e]/);
    setKey("");
    if (wrong) throw new Error(`No key has the character “${wrong[0]}”: copy it whole.`);
    forget();
    logInWith(key);
    await onCredential();
    setTried(true);
  });
  const submit = (event) => (event.preventDefault(), using.run());
  if (refused.status !== 401 && refused.status !== 403)
    return html`<${Heading}>Not now</><${Problem} error=${refused} /><button onClick=${onCredential}>Try again</button>`;
  return html`
    <${Heading}>Who are you?</>
    ${again && html`<p role="alert">You have been logged out. Log in, and go on where you were.</p>`}
    ${server && html`
      <p>Log in, and allow this page to use your memory.</p>
      <button onClick=${opening.run}>Log in</button>
      ${opening.busy && html`<p role="status" class="note">Go on in the window that has opened; or press again for another.</p>`}
      <${Problem} error=${opening.error} />
      <h2>Or with a key</h2>`}
    <form onSubmit=${submit}>
      <label for="key">API key</label>
      <input id="key" type="password" autocomplete="off" value=${key} onInput=${(event) => setKey(event.target.value.trim())} required />
      <p class="note">It is kept in this tab's memory, and forgotten with it.</p>
      <${Button} busy=${using.busy}>Use it</>
    </form>
    <${Problem} error=${using.error ?? (tried || refused.status === 403 ? refused : null)} />
  `;
}
