// MCP client: one stateless POST per call. The credential is kept in this tab's memory only.

const MOST_WAITS = 60;
const LONGEST_PAUSE_SECONDS = 5;
const POLL_SECONDS = 0.5;
const SILENT_SECONDS = 150; // longer than the server works on a call, which is 120 s
const ERROR_META = "mnemosyne/error"; // docs/reference/errors.md

const sleep = (seconds) => new Promise((resolve) => { setTimeout(resolve, seconds * 1000); });

// An error that the server answered, in its own words. `status` is the HTTP status: 0 if the server cannot be reached,
// 200 for a tool's error, 503 for a tool's error that is retryable. `seconds` is when to try again, 0 if unknown.
// `code` is the code of a tool's error.
export class Refused extends Error {
  constructor(message, status, seconds = 0, code = "") {
    super(message);
    this.status = status;
    this.seconds = seconds;
    this.code = code;
  }
}

// Whether the same call may succeed later.
export const isRetryable = ({ status }) => status === 0 || status === 429 || (status >= 500 && status !== 501);

// Whether the server, or a part that the call needs, cannot be reached.
export const isUnreachable = ({ status }) => [0, 502, 503, 504].includes(status);

// Convert the result of a failed tool call to an error.
export function toolError({ content = [], _meta: meta }) {
  const message = content.map((block) => block.text ?? "").join("\n");
  const { code, retryable, retry_after: seconds } = meta?.[ERROR_META] ?? {};
  return new Refused(message, retryable ? 503 : 200, seconds, code);
}

// The page uses one client. A test creates its own client.
export class Client {
  constructor({ pause = sleep, request = (...args) => fetch(...args) } = {}) {
    this.pause = pause;
    this.request = request;
    this.credential = "";
    this.logIns = 0; // number of log-ins; each may be by another person
    this.calls = 0;
    this.readOnly = new Set(); // names of the tools that change nothing
    // Called with (error, attempt) when a credential is rejected. It returns when there is another credential for the
    // same memories, and throws after a log-in for others.
    this.onUnauthorized = null;
    this.onReach = () => {}; // called with true or false: whether the server could be reached
  }

  hasCredential() {
    return this.credential !== "";
  }

  // Use the credential of a new log-in.
  logIn(credential) {
    this.credential = credential;
    this.logIns += 1;
  }

  // Use the next credential of the same log-in.
  renew(credential) {
    this.credential = credential;
  }

  // Call a tool and return its structured result. Throws Refused. `signal` aborts the request.
  async call(name, args = {}, signal = null) {
    const result = await this.authorized("tools/call", { name, arguments: args }, signal);
    if (result.isError) throw toolError(result);
    return result.structuredContent;
  }

  // Names of the tools that this credential may call, including the tools for the console.
  async tools() {
    const { tools } = await this.post("tools/list", { _meta: { "mnemosyne/console": true } });
    this.readOnly = new Set(tools.filter(({ annotations }) => annotations?.readOnlyHint).map(({ name }) => name));
    return new Set(tools.map(({ name }) => name));
  }

  // Make a function that calls tools as `call` does and retries for some minutes. It fails after a new log-in, because
  // work belongs to the person who started it. `onWait` is called with the reason for a wait, and with "" after it.
  retrying(onWait = () => {}) {
    const logIn = this.logIns;
    return async (name, args) => {
      for (let waits = 0; ; waits += 1) {
        if (logIn !== this.logIns) throw new Refused("You have logged in again: start again.", 401);
        try {
          const result = await this.call(name, args);
          onWait("");
          return result;
        } catch (error) {
          if (!isRetryable(error) || waits === MOST_WAITS) throw error;
          onWait(error.message);
          await this.pause(error.seconds || Math.min(waits + 1, LONGEST_PAUSE_SECONDS));
        }
      }
    };
  }

  // Poll the status of requests until each has an outcome or `signal` is aborted. `onStatus` gets each answer.
  async outcomes(requestIds, onStatus, callTool = this.retrying(), signal = null) {
    while (!signal?.aborted) {
      const { requests } = await callTool("ingest_status", { request_ids: requestIds });
      if (signal?.aborted) return;
      onStatus(requests);
      if (!requests.some(({ state }) => state === "queued" || state === "unknown")) return;
      await this.pause(POLL_SECONDS);
    }
  }

  async authorized(method, params, signal = null) {
    const logIn = this.logIns;
    for (let attempt = 0; ; attempt += 1) {
      const { credential } = this;
      // Another person may have logged in, who did not start the change.
      const isRepeated = logIn === this.logIns || this.readOnly.has(params.name);
      if (!isRepeated) throw new Refused("You have logged in again: repeat the action.", 401);
      try {
        return await this.post(method, params, signal);
      } catch (error) {
        if (error.status !== 401 || !this.onUnauthorized) throw error;
        // Another call may have renewed the credential in the meantime.
        if (this.credential === credential) await this.onUnauthorized(error, attempt);
      }
    }
  }

  async post(method, params, signal = null) {
    this.calls += 1;
    const body = JSON.stringify({ jsonrpc: "2.0", id: this.calls, method, params });
    const headers = { "Content-Type": "application/json", Accept: "application/json" };
    if (this.credential) headers.Authorization = `Bearer ${this.credential}`;
    const options = { method: "POST", headers, body, credentials: "omit", cache: "no-store" };
    const response = await this.send(options, signal);
    this.onReach(!isUnreachable(response));
    const answer = await response.json().catch((error) =>
      (error instanceof SyntaxError ? null : this.lose(error, signal, "The connection was lost.")));
    const seconds = Number(response.headers.get("Retry-After"));
    if (answer?.error) throw new Refused(answer.error.message, response.status, seconds);
    if (!response.ok || !answer) throw new Refused(`The server answered ${response.status}.`, response.status, seconds);
    return answer.result;
  }

  // Send a request and return the response. A connection may be lost without an error. The browser would wait for ever,
  // the page could not save again, and a reload ends the log-in.
  async send(options, signal) {
    const end = new AbortController();
    const timer = setTimeout(() => end.abort(), SILENT_SECONDS * 1000);
    signal?.addEventListener("abort", () => end.abort());
    if (signal?.aborted) end.abort();
    try {
      return await this.request("/mcp", { ...options, signal: end.signal });
    } catch (error) {
      const silent = `The server has not answered for ${SILENT_SECONDS} seconds: see whether it is done, or try again.`;
      return this.lose(error, signal, end.signal.aborted ? silent : "The server cannot be reached.");
    } finally {
      clearTimeout(timer);
    }
  }

  // Throw the error of a request without a complete answer. The server may have done the work.
  lose(error, signal, message) {
    if (signal?.aborted) throw error;
    this.onReach(false);
    throw new Refused(message, 0);
  }
}

export const client = new Client();
export const call = (name, args, signal) => client.call(name, args, signal);
