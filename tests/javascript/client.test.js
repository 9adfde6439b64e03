import assert from "node:assert/strict";
import { test } from "node:test";
import { Client, isRetryable, Refused, toolError } from "../../functions/mnemosyne/http/console/static/mcp.js";

const json = (body, status = 200, headers = {}) => new Response(JSON.stringify(body), { status, headers });
const result = (structuredContent) => json({ jsonrpc: "2.0", id: 1, result: { structuredContent } });
const failure = (error, text = "x") => json({ result: { isError: true, content: [{ type: "text", text }], _meta: {
  "mnemosyne/error": error,
} } });

// Returns a client that gets these answers one after another, and an object with the requests and pauses that it makes.
function clientOf(...answers) {
  const made = { requests: [], pauses: [] };
  const client = new Client({
    pause: async (seconds) => { made.pauses.push(seconds); },
    request: async (_, options) => {
      made.requests.push({ ...options.headers, body: JSON.parse(options.body) });
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      return answer;
    },
  });
  return { client, made };
}

const RETRYABLE = [[0, true], [200, false], [400, false], [401, false], [403, false], [404, false], [429, true],
  [500, true], [501, false], [502, true], [503, true], [504, true]];
for (const [status, expected] of RETRYABLE) {
  test(`status ${status} is ${expected ? "" : "not "}retried`, () => assert.equal(isRetryable({ status }), expected));
}

const ERRORS = [
  [{ code: "unavailable", retryable: true }, true, 0],
  [{ code: "rate_limited", retryable: true, retry_after: 7 }, true, 7],
  [{ code: "operator_needed", retryable: false }, false, 0],
  [{ code: "not_found", retryable: false }, false, 0],
  [undefined, false, 0],
];
for (const [error, expected, seconds] of ERRORS) {
  test(`a tool error ${JSON.stringify(error)} is ${expected ? "" : "not "}retried, whatever its sentence`, () => {
    const content = [{ type: "text", text: "temporarily unavailable" }];
    const refused = toolError({ content, _meta: error && { "mnemosyne/error": error } });
    assert.equal(isRetryable(refused), expected);
    assert.equal(refused.seconds, seconds);
    assert.equal(refused.message, "temporarily unavailable");
  });
}

test("a credential is sent as a bearer token", async () => {
  const { client, made } = clientOf(result({}), result({}));
  await client.call("a");
  client.logIn("mnk_1");
  await client.call("a");
  assert.deepEqual(made.requests.map(({ Authorization }) => Authorization), [undefined, "Bearer mnk_1"]);
});

const REFUSALS = [
  ["a network error", new TypeError("failed"), 0, "The server cannot be reached."],
  ["a page of a proxy", new Response("<html>", { status: 502 }), 502, "The server answered 502."],
  ["an answer that is not JSON", new Response("ok"), 200, "The server answered 200."],
  ["an error of JSON-RPC", json({ error: { code: -32602, message: "unknown tool" } }, 400), 400, "unknown tool"],
  ["a tool error", failure({ code: "not_found", retryable: false }, "no memory"), 200, "no memory"],
];
for (const [name, answer, status, message] of REFUSALS) {
  test(`${name} is an error with its status and words`, async () => {
    const { client } = clientOf(answer);
    await assert.rejects(client.call("a"), (error) => {
      assert.ok(error instanceof Refused);
      assert.deepEqual([error.status, error.message], [status, message]);
      return true;
    });
  });
}

test("retries wait as long as the server says, else longer each time", async () => {
  const limited = json({ error: { message: "slow down" } }, 429, { "Retry-After": "9" });
  const away = () => new TypeError("failed");
  const unavailable = failure({ code: "unavailable", retryable: true });
  const { client, made } = clientOf(limited, away(), unavailable, result({ a: 1 }));
  const reasons = [];
  assert.deepEqual(await client.retrying((reason) => reasons.push(reason))("a"), { a: 1 });
  assert.deepEqual(made.pauses, [9, 2, 3]);
  assert.deepEqual(reasons, ["slow down", "The server cannot be reached.", "x", ""]);
});

test("retries end after some minutes, or at once if no retry can help", async () => {
  const conflict = failure({ code: "conflict", retryable: false });
  const { client, made } = clientOf(conflict, ...Array(61).fill(new TypeError("failed")));
  await assert.rejects(client.retrying()("a"), { status: 200 });
  assert.deepEqual(made.pauses, []);
  await assert.rejects(client.retrying()("a"), { status: 0 });
  assert.deepEqual([made.pauses.length, Math.max(...made.pauses)], [60, 5]);
});

test("work that was started before a log-in does not go on after it", async () => {
  const { client, made } = clientOf(result({}), result({}));
  const callTool = client.retrying();
  await callTool("a");
  client.logIn("another");
  await assert.rejects(callTool("a"), { status: 401, message: "You have logged in again: start again." });
  assert.equal(made.requests.length, 1);
});

test("a rejected credential is renewed and the call is repeated", async () => {
  const { client, made } = clientOf(json({ error: { message: "expired" } }, 401), result({ a: 1 }));
  client.logIn("old");
  client.onUnauthorized = async () => client.renew("new");
  assert.deepEqual(await client.call("a"), { a: 1 });
  assert.deepEqual(made.requests.map(({ Authorization }) => Authorization), ["Bearer old", "Bearer new"]);
});

test("a call is not repeated as another person", async () => {
  const { client, made } = clientOf(json({ error: { message: "expired" } }, 401), result({ a: 1 }));
  client.logIn("ada");
  client.onUnauthorized = async () => client.logIn("bob");
  await assert.rejects(client.call("a"), { status: 401 });
  assert.equal(made.requests.length, 1);
});

test("a read that a new log-in overtakes is repeated, because its answer may be another person's", async () => {
  const tools = json({ result: { tools: [{ name: "a", annotations: { readOnlyHint: true } }] } });
  const { client, made } = clientOf(tools, result({ of: "ada" }), result({ of: "bob" }));
  await client.tools();
  client.logIn("ada");
  const reading = client.call("a");
  client.logIn("bob");
  assert.deepEqual(await reading, { of: "bob" });
  assert.deepEqual(made.requests.map(({ Authorization }) => Authorization), [undefined, "Bearer ada", "Bearer bob"]);
});

test("the answer to a change is returned, also if a new log-in overtakes it", async () => {
  const { client, made } = clientOf(result({ changed: 1 }));
  const changing = client.call("a");
  client.logIn("bob");
  assert.deepEqual(await changing, { changed: 1 });
  assert.equal(made.requests.length, 1);
});

test("a date in Retry-After is ignored", async () => {
  const headers = { "Retry-After": "Mon, 30 Nov 2026 07:00:00 GMT" };
  const { client } = clientOf(new Response("", { status: 503, headers }));
  await assert.rejects(client.call("a"), { status: 503, seconds: 0 });
});

test("requests are polled until each has an outcome, or until polling is aborted", async () => {
  const states = (...names) => result({ requests: names.map((state) => ({ state })) });
  const answers = [states("queued", "stored"), states("unknown", "stored"), states("failed", "stored")];
  const { client, made } = clientOf(...answers);
  const statuses = [];
  await client.outcomes(["1", "2"], (requests) => statuses.push(requests.map(({ state }) => state).join()));
  assert.deepEqual(statuses, ["queued,stored", "unknown,stored", "failed,stored"]);
  assert.equal(made.pauses.length, 2);
  await client.outcomes(["1"], () => assert.fail("called"), undefined, AbortSignal.abort());
});

test("the console's own tools are listed", async () => {
  const { client, made } = clientOf(json({ result: { tools: [{ name: "a" }, { name: "b" }] } }));
  assert.deepEqual(await client.tools(), new Set(["a", "b"]));
  assert.equal(made.requests[0].body.params._meta["mnemosyne/console"], true);
});

// A server that does not answer, and the error about it.
const silent = (_, { signal }) => new Promise((resolve, reject) => {
  signal.addEventListener("abort", () => reject(signal.reason));
});
const isAway = ({ message, status }) =>
  /^The server has not answered for 150 seconds/u.test(message) && status === 0;

test("a call without an answer ends after 150 seconds, and the server counts as away", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const client = new Client({ request: silent });
  const reached = [];
  client.onReach = (isThere) => reached.push(isThere);
  const ended = assert.rejects(client.call("get_memory"), isAway);
  t.mock.timers.tick(150_000);
  await ended;
  assert.deepEqual(reached, [false]);
});

test("a call that its caller aborts says nothing about the server", async () => {
  const leave = new AbortController();
  const client = new Client({ request: silent });
  client.onReach = () => assert.fail("the server may be there");
  const ended = assert.rejects(client.call("memory_search", {}, leave.signal), { name: "AbortError" });
  leave.abort();
  await ended;
});

test("an answer that has begun is read to its end, however long it takes", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const made = {};
  const request = async (_, { signal }) => {
    made.signal = signal;
    return result({ id: "1" });
  };
  await new Client({ request }).call("get_memory");
  t.mock.timers.tick(150_000);
  assert.equal(made.signal.aborted, false);
});

test("an answer that stops in the middle ends after 150 seconds, and the server counts as away", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const reached = [];
  const body = new ReadableStream({
    start(controller) { controller.enqueue(new TextEncoder().encode('{"jsonrpc": "2.0", "res')); },
    pull: () => new Promise(() => { setImmediate(() => t.mock.timers.tick(150_000)); }), // after the first part
  });
  const client = new Client({ request: async () => new Response(body) });
  client.onReach = (isThere) => reached.push(isThere);
  await assert.rejects(client.call("export_memories"), isAway);
  assert.deepEqual(reached, [true, false]);
});

test("an answer that breaks off is repeated, because its work may be done or not", async () => {
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('{"jsonrpc": "2.0", "res'));
      controller.error(new TypeError("network error"));
    },
  });
  const { client, made } = clientOf(new Response(body), result({ deleted: true }));
  const reached = [];
  client.onReach = (isThere) => reached.push(isThere);
  assert.deepEqual(await client.retrying()("delete_memory", { id: "1" }), { deleted: true });
  assert.deepEqual([made.requests.length, reached], [2, [true, false, true]]);
});
