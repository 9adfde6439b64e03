// The client: one stateless POST per call, with a credential that is kept in this tab's memory and nowhere else.

let credential = "";
let number = 0;

export const setCredential = (given) => (credential = given);
export const hasCredential = () => credential !== "";

// Gets another credential where one is not taken any more, for calls that are under way: a function that ends once there
// is one. Without it they fail.
let askAgain = null;
export const onUnauthorized = (ask) => (askAgain = ask);

// What the server said no to, in its own words; `status` is HTTP's, 200 where the tool itself refused.
export class Refused extends Error {
  constructor(message, status, seconds = 0) {
    super(message);
    this.status = status;
    this.seconds = seconds;
  }
}

const MOST_WAITS = 60;
const sleep = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));

// Call a tool as often as the rate limit makes it wait: for work of many calls.
export async function callPatiently(name, args) {
  for (let waited = 0; ; waited += 1) {
    try {
      return await call(name, args);
    } catch (error) {
      if (error.status !== 429 || waited === MOST_WAITS) throw error;
      await sleep(error.seconds || 1);
    }
  }
}

const PAUSE_SECONDS = 0.5;

// What became of requests, in their order, once each has its outcome; `told` is called with what is known so far.
export async function outcomes(requestIds, told = () => {}) {
  for (;;) {
    const { requests } = await callPatiently("ingest_status", { request_ids: requestIds });
    told(requests);
    if (!requests.some(({ state }) => state === "queued" || state === "unknown")) return requests;
    await sleep(PAUSE_SECONDS);
  }
}

// Call a tool: its structured result; throws Refused.
export async function call(name, args = {}) {
  const body = { jsonrpc: "2.0", id: ++number, method: "tools/call", params: { name, arguments: args } };
  const result = await authorized(body);
  if (result.isError) throw new Refused(result.content.map((one) => one.text ?? "").join("\n"), 200);
  return result.structuredContent;
}

// The names of the tools that this credential may call, those for a console among them.
export async function tools() {
  const listed = await post({ jsonrpc: "2.0", id: ++number, method: "tools/list", params: { _meta: { "mnemosyne/console": true } } });
  return new Set(listed.tools.map((tool) => tool.name));
}

async function authorized(body) {
  for (let times = 0; ; times += 1) {
    const used = credential;
    try {
      return await post(body);
    } catch (error) {
      if (error.status !== 401 || !askAgain) throw error;
      if (credential === used) await askAgain(error, times); // else another call has asked meanwhile
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
