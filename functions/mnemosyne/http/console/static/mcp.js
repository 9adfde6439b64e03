// The client: one stateless POST per call, with a credential that is kept in this tab's memory and nowhere else.

let credential = "";
let whose = 0; // who has logged in, by number: a log-in may be another person's
let number = 0;

export const hasCredential = () => credential !== "";

// Take the credential of who has logged in.
export function logInWith(given) {
  credential = given;
  whose += 1;
}

// Take the next credential of who is logged in still.
export const renewWith = (given) => (credential = given);

// What is done where a credential is not taken any more: a function that returns true once there is the next of the same
// person, and throws once there is one of who has logged in.
let askAgain = null;
export const onUnauthorized = (ask) => (askAgain = ask);

// What the server said no to, in its own words; `status` is HTTP's, 200 where the tool itself refused, and as of a server
// that is away where the tool says so.
export class Refused extends Error {
  constructor(message, status, seconds = 0) {
    super(message);
    this.status = status;
    this.seconds = seconds;
  }
}

const MOST_WAITS = 60;
const LONGEST_PAUSE_SECONDS = 5;
const sleep = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));

// Whether the same call may go through later: the rate limit, or a server that is away for a while.
export const isPassing = ({ status }) => status === 0 || status === 429 || (status >= 500 && status !== 501);

// How to call for work of many calls: each is tried again while it may go through later, for some minutes. The work is of
// who began it: once somebody logs in anew it fails. `waits` is told why it waits, and "" once it does no more.
export function patiently(waits = () => {}) {
  const mine = whose;
  return async (name, args) => {
    for (let waited = 0; ; waited += 1) {
      if (mine !== whose) throw new Refused("You have logged in anew: begin it again.", 401);
      try {
        const done = await call(name, args);
        waits("");
        return done;
      } catch (error) {
        if (!isPassing(error) || waited === MOST_WAITS) throw error;
        waits(error.message);
        await sleep(error.seconds || Math.min(waited + 1, LONGEST_PAUSE_SECONDS));
      }
    }
  };
}

const PAUSE_SECONDS = 0.5;

// What became of requests, in their order, once each has its outcome; `told` is called with what is known so far. It ends
// without where `signal` says stop.
export async function outcomes(requestIds, told, callTool = patiently(), signal = null) {
  while (!signal?.aborted) {
    const { requests } = await callTool("ingest_status", { request_ids: requestIds });
    if (signal?.aborted) return;
    told(requests);
    if (!requests.some(({ state }) => state === "queued" || state === "unknown")) return;
    await sleep(PAUSE_SECONDS);
  }
}

// Call a tool: its structured result; throws Refused.
export async function call(name, args = {}) {
  const body = { jsonrpc: "2.0", id: ++number, method: "tools/call", params: { name, arguments: args } };
  const result = await authorized(body);
  if (result.isError) {
    const said = result.content.map((one) => one.text ?? "").join("\n");
    const { retryable, retry_after: seconds } = result._meta?.["mnemosyne/error"] ?? {};
    throw new Refused(said, retryable ? 503 : 200, seconds);
  }
  return result.structuredContent;
}

// The names of the tools that this credential may call, those for a console among them.
export async function tools() {
  const listed = await post({ jsonrpc: "2.0", id: ++number, method: "tools/list", params: { _meta: { "mnemosyne/console": true } } });
  return new Set(listed.tools.map((tool) => tool.name));
}

async function authorized(body) {
  const mine = whose;
  for (let times = 0; ; times += 1) {
    const used = credential;
    if (mine !== whose) throw new Refused("You have logged in again: do it once more.", 401);
    try {
      return await post(body);
    } catch (error) {
      if (error.status !== 401 || !askAgain) throw error;
      if (credential === used) await askAgain(error, times); // else another call has got the next one meanwhile
    }
  }
}

async function post(body) {
  const headers = { "Content-Type": "application/json", Accept: "application/json" };
  if (credential) headers.Authorization = `Bearer ${credential}`;
  let answer;
  try {
    answer = await fetch("/mcp", { method: "POST", headers, body: JSON.stringify(body), credentials: "omit", cache: "no-store" });
  } catch {
    throw new Refused("The server cannot be reached.", 0);
  }
  const said = await answer.json().catch(() => null);
  if (said?.error) throw new Refused(said.error.message, answer.status, Number(answer.headers.get("Retry-After")));
  if (!answer.ok || !said) throw new Refused(`The server answered ${answer.status}.`, answer.status);
  return said.result;
}
