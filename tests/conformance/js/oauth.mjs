// Logs in with the TypeScript SDK's own OAuth client, and stores a memory: node oauth.mjs 1|2 URL
// The first argument is the major version of the SDK. The program prints a line `OPEN address` with the address that
// the person opens in a browser. At the end it prints one line of JSON with the results.
import { createServer } from "node:http";
import { setTimeout as pause } from "node:timers/promises";

const [major, url] = process.argv.slice(2);
const { Client, StreamableHTTPClientTransport, UnauthorizedError } =
  major === "2"
    ? await import("@modelcontextprotocol/client")
    : {
        ...(await import("@modelcontextprotocol/sdk/client/index.js")),
        ...(await import("@modelcontextprotocol/sdk/client/streamableHttp.js")),
        ...(await import("@modelcontextprotocol/sdk/client/auth.js")),
      };

let arrived;
const listener = createServer((request, response) => {
  const address = new URL(request.url, "http://localhost");
  response.end("You may close this.");
  if (address.pathname === "/callback") arrived(address.searchParams);
});
await new Promise((done) => listener.listen(0, "127.0.0.1", done));

const kept = {};
const opened = [];
const provider = {
  redirectUrl: `http://127.0.0.1:${listener.address().port}/callback`,
  get clientMetadata() {
    return { client_name: `TypeScript SDK ${major}`, redirect_uris: [this.redirectUrl] };
  },
  state: () => (kept.state ??= crypto.randomUUID()),
  clientInformation: () => kept.client,
  saveClientInformation: (client) => void (kept.client = client),
  tokens: () => kept.tokens,
  saveTokens: (tokens) => void (kept.tokens = tokens),
  saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
  codeVerifier: () => kept.verifier,
  invalidateCredentials: (what) => {
    if (what === "all" || what === "client") delete kept.client;
    if (what === "all" || what === "tokens") delete kept.tokens;
  },
  redirectToAuthorization: (address) => {
    opened.push(address);
    console.log(`OPEN ${address}`);
  },
};

const newTransport = () => new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
const newClient = () => new Client({ name: "oauth-test", version: "1" });

const connected = async () => {
  const client = newClient();
  await client.connect(newTransport());
  return client;
};
const remember = async (client, content) => {
  const call = async (name, args) => (await client.callTool({ name, arguments: args })).structuredContent;
  const { request_id } = await call("ingest_memory", { content });
  for (let asked = 0; asked < 60; asked++) {
    const { requests } = await call("ingest_status", { request_ids: [request_id] });
    if (requests[0].state !== "queued") return requests[0].state;
    await pause(1000);
  }
  return "queued";
};

const back = new Promise((done) => (arrived = done));
const first = newTransport();
try {
  await newClient().connect(first);
  throw new Error("it was let in without a log-in");
} catch (error) {
  if (!(error instanceof UnauthorizedError)) throw error;
}
const params = await back;
await (major === "2" ? first.finishAuth(params) : first.finishAuth(params.get("code")));
const client = await connected();
const stored = await remember(client, `The TypeScript SDK ${major} logs in`);

const before = kept.tokens.refresh_token;
kept.tokens = { ...kept.tokens, access_token: "expired" };
const refreshed = await remember(client, `The TypeScript SDK ${major} refreshes`);
const rotated = kept.tokens.refresh_token !== before && opened.length === 1;

const issuer = new URL(params.get("iss"));
const form = new URLSearchParams({ token: kept.tokens.refresh_token, client_id: kept.client.client_id });
const revoked = (await fetch(new URL("/revoke", issuer), { method: "POST", body: form })).status;
kept.tokens = { ...kept.tokens, access_token: "expired" };
let refused = "it was let in";
try {
  await remember(client, "nobody may");
} catch (error) {
  refused = opened.length === 2 ? true : String(error);
}
const state = params.get("state") === kept.state;
console.log(JSON.stringify({ stored, refreshed, rotated, revoked, refused, state }));
process.exit(0);
