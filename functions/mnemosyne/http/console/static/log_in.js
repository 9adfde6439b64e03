// Log in by OAuth in a window of its own, so that neither the code's verifier nor a token is ever stored or in an address
// that is kept: RFC 6749, RFC 7636, RFC 8707, RFC 9207.

const encoded = (bytes) => btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const random = () => encoded(crypto.getRandomValues(new Uint8Array(32)));
const json = async (answer) => {
  const said = await answer.json();
  if (!answer.ok) throw new Error(said.error_description ?? said.error ?? `The server answered ${answer.status}.`);
  return said;
};

// Where people log in; null where a key is asked for instead.
export async function authorizationServer() {
  const answer = await fetch("/.well-known/oauth-protected-resource/mcp", { credentials: "omit" });
  if (!answer.ok) return null;
  const { authorization_servers: servers, resource, scopes_supported: scopes } = await answer.json();
  const metadata = await json(await fetch(`${servers[0]}/.well-known/oauth-authorization-server`, { credentials: "omit" }));
  return { ...metadata, resource, scope: [...scopes, "operate"].join(" ") };
}

// Log in: an access token and when it expires, and how to have the next one. Call it while a button is pressed.
export async function logIn(server) {
  const opened = window.open("about:blank", "_blank", "popup,width=520,height=680");
  if (!opened) throw new Error("The browser kept the log-in's window from opening: allow it for this page.");
  const redirect_uri = `${location.origin}/console/callback`;
  // The same registration has the same id, and nothing is stored for it.
  const client = await json(
    await fetch(server.registration_endpoint, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ client_name: "Mnemosyne's console", redirect_uris: [redirect_uri] }),
    }),
  );
  const [verifier, state] = [random(), random()];
  const challenge = encoded(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier))));
  const { client_id } = client;
  const asked = { response_type: "code", client_id, redirect_uri, state, scope: server.scope, resource: server.resource };
  const address = new URLSearchParams({ ...asked, code_challenge: challenge, code_challenge_method: "S256" });
  const told = returned(state);
  opened.location = `${server.authorization_endpoint}?${address}`;
  const { code, iss, error, error_description } = await told;
  if (error || iss !== server.issuer) throw new Error(error_description ?? error ?? "The answer came from another server.");
  return tokens(server, { grant_type: "authorization_code", code, redirect_uri, client_id, code_verifier: verifier });
}

// Have the next token.
export const refresh = (server, held) =>
  tokens(server, { grant_type: "refresh_token", refresh_token: held.refresh_token, client_id: held.client_id });

// End what was granted.
export const logOut = (server, held) =>
  fetch(server.revocation_endpoint, {
    method: "POST",
    body: new URLSearchParams({ token: held.refresh_token, client_id: held.client_id }),
  });

async function tokens(server, form) {
  const body = new URLSearchParams({ ...form, resource: server.resource });
  const given = await json(await fetch(server.token_endpoint, { method: "POST", body, credentials: "omit" }));
  return { ...given, client_id: form.client_id };
}

// What the window that was opened is told in the end; it shares the origin, and says it on a channel of that.
function returned(state) {
  return new Promise((done) => {
    const channel = new BroadcastChannel("mnemosyne-log-in");
    channel.onmessage = ({ data }) => {
      if (data.state !== state) return;
      channel.close();
      done(data);
    };
  });
}
