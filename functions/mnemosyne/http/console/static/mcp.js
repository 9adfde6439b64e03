// MCP client: one stateless POST per call. The credential is kept in this tab's memory only.
import { formatJson, parseJson } from "./exact_json.js";

const MOST_WAITS = 60;
const LONGEST_PAUSE_SECONDS = 5;
const POLL_SECONDS = 0.5;
const SILENT_SECONDS = 150; // longer than the server works on a call, which is 120 s
const ERROR_META = "mnemosyne/error"; // docs/reference/errors.md

const sleep = (seconds) => new Promise((resolve) => { setTimeout(resolve, seconds * 1000); });

// An error in the answer of the server or of a tool. Its message is shown to the person.
//   status   the HTTP status; 0 if the server cannot be reached. The error of a tool has 503 if the call may succeed
//            later, and otherwise 200.
//   seconds  when to try again; 0 if unknown
//   code     the code of a tool's error
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

// Return the error to throw for the result of a failed tool call.
export function toolError({ content = [], _meta: meta }) {
  const message = content.map((block) => block.text ?? "").join("\n");
  const { code, retryable, retry_after: seconds } = meta?.[ERROR_META] ?? {};
  return new Refused(message, retryable ? 503 : 200, seconds, code);
}

// The body of a response as text. `onPart` is called before each part of the body.
async function readText({ body }, onPart, signal) {
  const reader = body?.pipeThrough(new TextDecoderStream(), { signal }).getReader();
  let text = "";
  for (;;) {
    onPart();
    const { done = true, value } = (await reader?.read()) ?? {};
    if (done) return text;
    text += value;
  }
}

// Parse JSON. The result is null if the text is something else, for example the page of a proxy.
function parse(text) {
  try {
    return parseJson(text);
  } catch {
    return null;
  }
}

// A client for the tools of the server. The console has only one; tests create their own.
export class Client {
  constructor({ pause = sleep, request = (...args) => fetch(...args) } = {}) {
    this.pause = pause;
    this.request = request;
    this.credential = "";
    this.logIns = 0; // number of log-ins; each may be by another person
    this.calls = 0;
    this.readOnly = new Set(); // names of the tools that change nothing
    // Called with (error, attempt) when the server rejects the credential. The function returns when the client has a
    // new credential for the same namespace, so that the call can be repeated. After a log-in for another namespace,
    // the function throws.
    this.onUnauthorized = null;
    this.onReach = () => {}; // called with true or false: whether the server could be reached
    this.onRenew = () => {}; // called after the credential was renewed
  }

  hasCredential() {
    return this.credential !== "";
  }

  // Use the credential of a new log-in, perhaps of another person. Changes that began before the log-in are not
  // repeated.
  logIn(credential) {
    this.credential = credential;
    this.logIns += 1;
  }

  // Use a renewed credential of the same log-in. Changes that have begun are continued.
  renew(credential) {
    this.credential = credential;
    this.onRenew();
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

  // Return a function that calls tools as `call` does, and repeats a call for some minutes if the server is
  // unavailable. After a new log-in, the function throws, because another person may have logged in. `onWait` is called
  // with the reason before each wait, and with "" when a call has succeeded.
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

  // Ask for the status of requests again and again, until each request has an outcome or `signal` is aborted.
  // `onStatus` is called with each answer.
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
      const { credential, logIns } = this;
      // After a new log-in, repeat only calls that change nothing. The new person may not be the one who started a
      // change.
      const isRepeated = logIn === this.logIns || this.readOnly.has(params.name);
      if (!isRepeated) throw new Refused("You have logged in again: repeat the action.", 401);
      try {
        const result = await this.post(method, params, signal);
        // After a new log-in, read again, because the result may have another person's memories.
        if (logIns === this.logIns || !this.readOnly.has(params.name)) return result;
      } catch (error) {
        if (error.status !== 401 || !this.onUnauthorized) throw error;
        // Do not ask for a log-in if another call has already renewed the credential.
        if (this.credential === credential) await this.onUnauthorized(error, attempt);
      }
    }
  }

  async post(method, params, signal = null) {
    this.calls += 1;
    const body = formatJson({ jsonrpc: "2.0", id: this.calls, method, params });
    const headers = { "Content-Type": "application/json", Accept: "application/json" };
    if (this.credential) headers.Authorization = `Bearer ${this.credential}`;
    const options = { method: "POST", headers, body, credentials: "omit", cache: "no-store" };
    const { response, answer } = await this.send(options, signal);
    const seconds = Number(response.headers.get("Retry-After")) || 0; // a proxy may send a date
    if (answer?.error) throw new Refused(answer.error.message, response.status, seconds);
    if (!response.ok || !answer) throw new Refused(`The server answered ${response.status}.`, response.status, seconds);
    return answer.result;
  }

  // Send a request. Return the response, and its body as JSON: null if it is not JSON. If the server sends nothing for
  // SILENT_SECONDS, throw an error. A connection may be lost without an error, also in the middle of a body: the page
  // would then wait for ever, and loading it again would end the log-in.
  async send(options, signal) {
    const end = new AbortController();
    let timer = null;
    const wait = () => {
      clearTimeout(timer);
      timer = setTimeout(() => end.abort(), SILENT_SECONDS * 1000);
    };
    signal?.addEventListener("abort", () => end.abort());
    if (signal?.aborted) end.abort();
    let problem = "The server cannot be reached.";
    try {
      wait();
      const response = await this.request("/mcp", { ...options, signal: end.signal });
      this.onReach(!isUnreachable(response));
      problem = "The connection was lost.";
      return { response, answer: parse(await readText(response, wait, end.signal)) };
    } catch (error) {
      const silent = `The server has not answered for ${SILENT_SECONDS} seconds: see whether it is done, or try again.`;
      return this.lose(error, signal, end.signal.aborted ? silent : problem);
    } finally {
      clearTimeout(timer);
    }
  }

  // Throw an error for a request that has no complete answer. The server may have carried out the request nevertheless.
  lose(error, signal, message) {
    if (signal?.aborted) throw error;
    this.onReach(false);
    throw new Refused(message, 0);
  }
}

export const client = new Client();
export const call = (name, args, signal) => client.call(name, args, signal);
