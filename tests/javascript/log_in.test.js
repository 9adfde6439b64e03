// Log-ins at the authorization server: the window in which a person logs in, its results, and the renewal of the token.
import assert from "node:assert/strict";
import { test } from "node:test";
import { renew, start } from "../../functions/mnemosyne/http/console/static/account.js";
import { challengeOf, logIn, readJson } from "../../functions/mnemosyne/http/console/static/log_in.js";
import { client } from "../../functions/mnemosyne/http/console/static/mcp.js";

const SERVER = { token_endpoint: "https://auth.example/token", registration_endpoint: "https://auth.example/register" };
const tokens = (number) => ({ access_token: `access ${number}`, refresh_token: `refresh ${number}`, expires_in: 3600 });

// Let `fetch` return these answers one after another. If an answer is an error, `fetch` throws it.
function answer(context, ...answers) {
  context.mock.method(globalThis, "fetch", async () => {
    const next = answers.shift();
    if (next instanceof Error) throw next;
    return next;
  });
}

const busy = () => Response.json({ error: "temporarily_unavailable" }, { status: 503 });
test("a renewal is repeated by one timer only, also after calls have asked for it", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const asked = context.mock.method(globalThis, "fetch", async () => busy());
  start(SERVER, { ...tokens(1), expires_in: 65 });
  await renew();
  await renew();
  asked.mock.resetCalls();
  context.mock.timers.tick(5000); // when the token would have been renewed before it expires
  await new Promise(setImmediate);
  assert.equal(asked.mock.callCount(), 0);
  context.mock.timers.tick(5000);
  await new Promise(setImmediate);
  assert.equal(asked.mock.callCount(), 1);
});

const TEMPORARY = {
  "is busy": busy,
  "is behind a gateway that answers in HTML": () => new Response("<h1>Bad gateway</h1>", { status: 502 }),
  "limits the rate": () => Response.json({ error: "slow_down" }, { status: 429 }),
  "cannot be reached": () => new TypeError("Failed to fetch"),
};
for (const [problem, make] of Object.entries(TEMPORARY)) {
  test(`a log-in is kept while the authorization server ${problem}`, async (context) => {
    context.mock.timers.enable({ apis: ["setTimeout"] });
    answer(context, make(), Response.json(tokens(2)));
    client.logIn("access 1");
    client.onRenew = context.mock.fn();
    start(SERVER, tokens(1));
    assert.equal(await renew(), false);
    assert.equal(client.onRenew.mock.callCount(), 0);
    context.mock.timers.tick(10_000);
    assert.equal(await renew(), true, "the renewal that the timer has started");
    assert.deepEqual([client.credential, client.onRenew.mock.callCount()], ["access 2", 1]);
  });
}

test("a log-in ends when its refresh token is refused", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  answer(context, Response.json({ error: "invalid_grant" }, { status: 400 }), Response.json(tokens(2)));
  start(SERVER, tokens(1));
  assert.equal(await renew(), false);
  assert.equal(await renew(), false);
});

test("the window of a log-in that cannot begin is closed, so that the error is seen", async (context) => {
  const opened = { close: context.mock.fn() };
  Object.assign(globalThis, { window: { open: () => opened }, location: { origin: "https://memory.example" } });
  context.after(() => {
    delete globalThis.window;
    delete globalThis.location;
  });
  answer(context, Response.json({ error: "slow_down", error_description: "too many requests" }, { status: 429 }));
  await assert.rejects(logIn(SERVER), { message: "too many requests" });
  assert.equal(opened.close.mock.callCount(), 1);
});

test("the code challenge is that of RFC 7636, appendix B", async () => {
  const verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
  assert.equal(await challengeOf(verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
});

for (const [body, message] of [
  ['{"error": "invalid_grant", "error_description": "the code has expired"}', "the code has expired"],
  ['{"error": "invalid_grant"}', "invalid_grant"],
  ["{}", "The server answered 400."],
  ["<h1>Bad gateway</h1>", "The server answered 400."],
]) {
  test(`an answer ${body} is the error "${message}"`, async () => {
    await assert.rejects(readJson(new Response(body, { status: 400 })), { message, status: 400 });
  });
}
