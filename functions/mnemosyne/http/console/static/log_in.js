// Log in by OAuth in a separate window (RFC 6749, 7636, 8707, 9207). The code verifier and the tokens are never stored,
// and no address in the browser's history contains them.
import { Refused } from "./mcp.js";

export const base64url = (bytes) =>
  btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)));

// Read a response as JSON. Throws Refused with the server's description of an error.
export async function readJson(response) {
  const answer = await response.json().catch(() => null);
  if (response.ok && answer) return answer;
  const message = answer?.error_description ?? answer?.error ?? `The server answered ${response.status}.`;
  throw new Refused(message, response.status);
}

async function send(address, options) {
  try {
    return await fetch(address, options);
  } catch {
    throw new Refused("The server for the log-in cannot be reached.", 0);
  }
}

const fetchJson = async (address, options) => readJson(await send(address, options));

// Metadata of the authorization server. Null if the console takes API keys only.
export async function authorizationServer() {
  const response = await send("/.well-known/oauth-protected-resource/mcp", { credentials: "omit" });
  if (response.status === 404) return null;
  const { authorization_servers: servers, resource, scopes_supported: scopes } = await readJson(response);
  const address = `${servers[0]}/.well-known/oauth-authorization-server`;
  const metadata = await fetchJson(address, { credentials: "omit" });
  return { ...metadata, resource, scope: [...scopes, "operate"].join(" ") };
}

// Register this console as a client. The server stores no registrations: the same request always gets the same client
// id.
const register = (server, redirectUri) =>
  fetchJson(server.registration_endpoint, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ client_name: "Mnemosyne's console", redirect_uris: [redirectUri] }),
  });

// The code challenge for a code verifier, by the method S256.
export async function challengeOf(verifier) {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
  return base64url(new Uint8Array(digest));
}

// Log in and return the tokens. Call this in the handler of a click. Otherwise the browser blocks the window.
export async function logIn(server) {
  const opened = window.open("about:blank", "_blank", "popup,width=520,height=680");
  if (!opened) throw new Error("The browser blocked the log-in window: allow windows for this page.");
  const redirectUri = `${location.origin}/console/callback`;
  const { client_id: clientId } = await register(server, redirectUri).catch((error) => {
    opened.close(); // the empty window would hide the error
    throw error;
  });
  const [verifier, state] = [random(), random()];
  const answered = answerOf(state);
  opened.location = `${server.authorization_endpoint}?${new URLSearchParams({
    response_type: "code",
    client_id: clientId,
    redirect_uri: redirectUri,
    state,
    scope: server.scope,
    resource: server.resource,
    code_challenge: await challengeOf(verifier),
    code_challenge_method: "S256",
  })}`;
  const { code, iss, error, error_description: description } = await answered;
  if (error || iss !== server.issuer) throw new Error(description ?? error ?? "The answer came from another server.");
  const grant = { grant_type: "authorization_code", code, redirect_uri: redirectUri, code_verifier: verifier };
  return requestTokens(server, { ...grant, client_id: clientId });
}

// Get new tokens for the refresh token.
export const refresh = (server, tokens) =>
  requestTokens(server, {
    grant_type: "refresh_token",
    refresh_token: tokens.refresh_token,
    client_id: tokens.client_id,
  });

// Revoke the grant.
export async function revoke(server, tokens) {
  const body = new URLSearchParams({ token: tokens.refresh_token, client_id: tokens.client_id });
  const response = await send(server.revocation_endpoint, { method: "POST", body });
  if (!response.ok) await readJson(response);
}

async function requestTokens(server, form) {
  const body = new URLSearchParams({ ...form, resource: server.resource });
  const tokens = await fetchJson(server.token_endpoint, { method: "POST", body, credentials: "omit" });
  return { ...tokens, client_id: form.client_id };
}

// Wait for the answer of the authorization server: the parameters in the address to which the log-in window was
// redirected. The script callback.js in that window sends them on a channel that other sites cannot read.
function answerOf(state) {
  return new Promise((resolve) => {
    const channel = new BroadcastChannel("mnemosyne-log-in");
    channel.onmessage = ({ data }) => {
      if (data.state !== state) return;
      channel.close();
      resolve(data);
    };
  });
}
