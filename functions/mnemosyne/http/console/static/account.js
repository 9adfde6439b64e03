// Log in and out: with an API key for this tab, or at the authorization server if there is one.
import { html, useEffect, useState } from "./vendor/htm-preact.js";
import { authorizationServer, logIn, refresh, revoke } from "./log_in.js";
import { client, isRetryable } from "./mcp.js";
import { Button, Heading, Icon, LoadProblem, Note, Problem, useAction } from "./components.js";
import { Logo } from "./icons.js";
import { useValue } from "./observable.js";
import { setTheme, theme, THEME_NAMES, themeAfter } from "./preferences.js";

const EARLY_SECONDS = 60;
const RETRY_SECONDS = 10;

// The log-in at the authorization server. `current` has the server, the tokens and the timer of the next renewal.
// `current` is null without such a log-in, for example with an API key. `renewal` is the running renewal, or null.
const session = { current: null, renewal: null };

// Use the tokens of a log-in, and renew them before they expire.
export function start(server, tokens) {
  clearTimeout(session.current?.timer);
  const seconds = Math.max(1, tokens.expires_in - EARLY_SECONDS);
  session.current = { server, tokens, timer: setTimeout(renew, seconds * 1000) };
}

function end() {
  clearTimeout(session.current?.timer);
  session.current = null;
}

// Renew the access token and return whether it was renewed. If the server is unavailable at the moment, the log-in is
// kept, and the renewal is tried again later. Renewals never overlap, because using a refresh token twice revokes the
// grant.
export function renew() {
  session.renewal ??= renewOnce().finally(() => { session.renewal = null; });
  return session.renewal;
}

async function renewOnce() {
  if (!session.current) return false;
  const { server, tokens } = session.current;
  const isCurrent = () => session.current?.tokens === tokens;
  try {
    const next = await refresh(server, tokens);
    if (!isCurrent()) {
      await revoke(server, next); // logged out in the meantime
      return false;
    }
    client.renew(next.access_token);
    start(server, next);
    return true;
  } catch (error) {
    if (!isCurrent()) return false;
    // Try again later if the error may be temporary. After any other error, the log-in has ended.
    if (isRetryable(error)) {
      clearTimeout(session.current.timer);
      session.current.timer = setTimeout(renew, RETRY_SECONDS * 1000);
    } else end();
    return false;
  }
}

// Log out: forget the credential, and revoke the grant at the authorization server. If the grant may still be valid,
// return the error, and the address `account` of the page where the person can revoke it.
export async function logOut() {
  const { current } = session;
  end();
  client.logIn("");
  if (!current) return null;
  const account = `${current.server.issuer}/account`;
  return revoke(current.server, current.tokens).then(() => null, (error) => ({ error, account }));
}

// Throw an error if the key cannot be sent in a header, for example because it was copied from a narrow column and ends
// in an ellipsis.
export function checkKey(key) {
  const wrong = key.match(/[^\x21-\x7e]/);
  if (wrong) throw new Error(`No key has the character “${wrong[0]}”: copy the whole key.`);
  return key;
}

// Whether the person uses the form for logging in, and so may become another person. While this is true, a renewal must
// not remove the form.
export const isLoggingIn = () =>
  Boolean(document.querySelector(".gate :is(input, button):focus, #opened") || document.getElementById("key")?.value);

// The form for logging in. `isExpired` is true if a log-in has ended; the person's page is then kept behind the form.
export function LogIn({ refused, isExpired, onCredential }) {
  const isCredential = refused.status === 401 || refused.status === 403;
  const body = isCredential
    ? html`<${Form} refused=${refused} isExpired=${isExpired} onCredential=${onCredential} />`
    : html`<${Heading}>Not available</><${Problem} error=${refused} /><${Button} class="btn main"
      onClick=${onCredential}>Try again</>`;
  return html`<${Gate}>${body}</>`;
}

const Gate = ({ children }) => html`<main class="gate"><p class="brand"><${Logo} />Mnemosyne</p>
  <div class="panel gate-card stack">${children}</div><${Appearance} /></main>`;

// The page after a log-out that the authorization server has not confirmed.
export const NotRevoked = ({ error, account }) => html`<${Gate}><${Heading}>Logged out of this tab only</>
  <${Note} kind="bad" role="alert"><p>The server has not ended the log-in: ${error.message} Revoke it on the page of the
    <a href=${account}>applications with access</a>.</p></>
  <${Button} class="btn main" onClick=${() => location.reload()}>Log in</></>`;

function Appearance() {
  const name = useValue(theme);
  return html`<${Button} class="btn quiet small" icon="half" onClick=${() => setTheme(themeAfter(name))}>
    Appearance: ${THEME_NAMES[name]}</>`;
}

function Form({ refused, isExpired, onCredential }) {
  const asking = useAction(authorizationServer);
  useEffect(() => void asking.run(), []);
  const server = asking.done;
  return html`<div class="stack-s"><${Heading}>Log in</><p class="soft small">${location.host}</p></div>
    ${isExpired && html`<${Note} kind="warn" role="alert">
      <p>You have been logged out. Log in again to go on. What you typed
      is kept.</p></>`}
    <${LoadProblem} error=${asking.error} onRetry=${() => asking.run()} />
    ${server && html`<${WithServer} server=${server} onCredential=${onCredential} /><p class="or">or</p>`}
    <${WithKey} refused=${refused} onCredential=${onCredential} />
    <p class="help">The key stays in this tab only and is forgotten when the tab is closed. The operator of this server
      makes keys: <span class="mono">mnemosyne keys create --name NAME</span></p>`;
}

function WithServer({ server, onCredential }) {
  const opening = useAction(async () => {
    const { logIns } = client;
    const tokens = await logIn(server);
    // After another log-in, the page may show the typed text of another person.
    if (logIns !== client.logIns) {
      revoke(server, tokens).catch(() => null);
      throw new Error("Another log-in was used in the meantime: log in again.");
    }
    end();
    client.logIn(tokens.access_token);
    start(server, tokens);
    await onCredential();
  });
  return html`<button class="btn main" onClick=${opening.run}>Log in</button>
    ${opening.busy && html`<p role="status" id="opened"
      class="help">Continue in the new window, or press Log in for another one.</p>`}
    <${Problem} error=${opening.error} />`;
}

function WithKey({ refused, onCredential }) {
  const [key, setKey] = useState("");
  const [isTried, setIsTried] = useState(false);
  const using = useAction(async () => {
    setKey("");
    const checked = checkKey(key);
    end();
    client.logIn(checked);
    await onCredential();
    setIsTried(true);
  });
  const submit = (event) => {
    event.preventDefault();
    using.run();
  };
  const error = using.error ?? (isTried || refused.status === 403 ? refused : null);
  return html`<form class="stack" onSubmit=${submit}>
    <div class="field"><label for="key">API key</label>
      <input class="input mono" id="key" type="password" autocomplete="off" spellcheck="false" required value=${key}
        aria-invalid=${error ? "true" : null} aria-describedby=${error ? "wrong" : null}
        onInput=${(event) => setKey(event.target.value.trim())} />
      ${error && html`<p class="wrong" id="wrong" role="alert"><${Icon} name="alert" small />
        ${error.message}</p>`}</div>
    <${Button} type="submit" busy=${using.busy}>Use the key</></form>`;
}
