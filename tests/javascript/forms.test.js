import assert from "node:assert/strict";
import { test } from "node:test";
import { checkKey } from "../../functions/mnemosyne/http/console/static/account.js";
import { matchLabel } from "../../functions/mnemosyne/http/console/static/components.js";
import { countsByState, isFailure } from "../../functions/mnemosyne/http/console/static/files.js";
import { challengeOf, readJson } from "../../functions/mnemosyne/http/console/static/log_in.js";
import {
  changesOf, formatMetadata, labelsOf, parseMetadata,
} from "../../functions/mnemosyne/http/console/static/memory.js";
import * as newest from "../../functions/mnemosyne/http/console/static/newest.js";
import { letterCount } from "../../functions/mnemosyne/http/console/static/outcomes.js";
import * as search from "../../functions/mnemosyne/http/console/static/search.js";
import * as store from "../../functions/mnemosyne/http/console/static/store.js";

const url = (address) => new URL(address, "http://localhost");
const EMPTY = search.formOf(url("/"));

const SEARCHES = [
  [{}, "/"],
  [{ query: "tea" }, "/?q=tea"],
  [{ query: "a&b = c", mode: "exact" }, "/?q=a%26b+%3D+c&mode=exact"],
  [{ time: "last week", tags: '"red, green"' }, "/?time=last+week&tags=%22red%2C+green%22"],
  [{ quality: "0.5", old: "yes" }, "/?quality=0.5&old=yes"],
];
for (const [fields, address] of SEARCHES) {
  test(`a search ${JSON.stringify(fields)} has the address ${address} and is read from it`, () => {
    assert.equal(search.addressOf({ ...EMPTY, ...fields }), address);
    assert.deepEqual(search.formOf(url(address)), { ...EMPTY, ...fields });
  });
}

const BASE = { limit: 20, include_debug: true };
const ARGUMENTS = [
  [{ query: "tea" }, { query: "tea", mode: "hybrid" }],
  [{ query: "tea", mode: "exact" }, { query: "tea", mode: "exact" }],
  [{ time: "last week" }, { time_expr: "last week", timezone: process.env.TZ }],
  [{ tags: '"red, green", a' }, { tags: ["red, green", "a"] }],
  [{ quality: "0" }, { quality_boost: 0 }],
  [{ quality: "much" }, { quality_boost: "much" }], // the server refuses it
  [{ old: "yes" }, { include_superseded: true }],
];
for (const [fields, args] of ARGUMENTS) {
  test(`a search ${JSON.stringify(fields)} asks for ${JSON.stringify(args)}`, () => {
    assert.deepEqual(search.argumentsOf({ ...EMPTY, ...fields }), { ...BASE, ...args });
  });
}

for (const [count, text] of [[0, "0 memories"], [1, "1 memory"], [19, "19 memories"], [20, "The best 20 memories"],
  [21, "21 memories"], [100, "The best 100 memories"]]) {
  test(`${count} results are "${text}"`, () => assert.equal(search.resultCount(count), text));
}

for (const confidence of ["strong", "related", "weak"]) {
  test(`a ${confidence} result says so in words`, () => {
    assert.equal(matchLabel(confidence), `${confidence} match`);
  });
}

const LISTS = [
  ["/newest", {}],
  ["/newest?tags=tea", { tags: ["tea"] }],
  ["/newest?after=2026-05-01T00%3A00%3A00Z", { after: "2026-05-01T00:00:00Z", timezone: process.env.TZ }],
  ["/newest?before=2026-05-02&tags=%22a%2C+b%22", { before: "2026-05-02", timezone: process.env.TZ, tags: ["a, b"] }],
];
for (const [address, filters] of LISTS) {
  test(`${address} filters by ${JSON.stringify(filters)} and is their address`, () => {
    assert.deepEqual(newest.filtersOf(url(address)), filters);
    assert.deepEqual(newest.filtersOf(url(newest.addressOf(filters))), filters);
  });
}

for (const [filters, tag, expected] of [
  [{}, "a", { tags: ["a"] }],
  [{ tags: ["a"] }, "a", {}],
  [{ tags: ["b"], after: "2026" }, "a", { tags: ["a"], after: "2026" }],
]) {
  test(`the tag ${tag} on ${JSON.stringify(filters)} leads to ${JSON.stringify(expected)}`, () => {
    assert.deepEqual(newest.toggleTag(filters, tag), expected);
  });
}

const MEMORY = { id: "1", title: "Tea", tags: ["a", "b, c"], metadata: { cups: 2 }, superseded_by: null };
const CHANGES = [
  [{ title: "Coffee" }, { title: "Coffee" }],
  [{ tags: "a" }, { tags: ["a"] }],
  [{ tags: "" }, { tags: ["none"] }],
  [{ metadata: '{"cups": 3}' }, { metadata: { cups: 3 } }],
  [{ metadata: " " }, { metadata: {} }],
  [{ successor: " 2 " }, { superseded_by: "2" }],
];
for (const [fields, changes] of CHANGES) {
  test(`the form ${JSON.stringify(fields)} changes ${JSON.stringify(changes)}`, () => {
    assert.deepEqual(changesOf(MEMORY, { ...labelsOf(MEMORY), ...fields }), { id: "1", ...changes });
  });
}

test("a successor is removed by an empty field", () => {
  const memory = { ...MEMORY, superseded_by: "2" };
  assert.deepEqual(changesOf(memory, { ...labelsOf(memory), successor: "" }), { id: "1", superseded_by: "none" });
});

for (const tags of ["a, \"b, c\"", "a,\"b, c\" ,"]) {
  test(`tags ${tags} as they are stored change nothing`, () => {
    const form = { ...labelsOf(MEMORY), tags };
    assert.throws(() => changesOf(MEMORY, form), /Nothing was changed in the form/);
  });
}

for (const metadata of [{}, { a: 1 }, { a: { b: ["ü", null] } }]) {
  test(`metadata ${JSON.stringify(metadata)} are parsed as they were formatted`, () => {
    assert.deepEqual(parseMetadata(formatMetadata(metadata)), metadata);
  });
}

for (const text of ["[1]", "1", '"a"', "null", "true"]) {
  test(`metadata ${text} must be an object`, () => assert.throws(() => parseMetadata(text), /must be a JSON object/));
}
for (const text of ["{", "{a: 1}", "mood"]) {
  test(`metadata ${text} must be JSON`, () => assert.throws(() => parseMetadata(text), /metadata cannot be read/));
}

const FORM = { content: "a", title: "", tags: " ", timestamp: "" };
const STORED = [
  [{}, {}],
  [{ title: "T", tags: "x, y" }, { title: "T", tags: ["x", "y"] }],
  [{ timestamp: "2026-05-01T09:00" }, { timestamp: "2026-05-01T00:00:00.000Z" }],
];
for (const [fields, args] of STORED) {
  test(`a form ${JSON.stringify(fields)} stores ${JSON.stringify(args)}`, () => {
    assert.deepEqual(store.argumentsOf({ ...FORM, ...fields }), { content: "a", ...args });
  });
}

for (const [lines, text] of [
  [[], ""],
  [[{ state: "stored" }, { state: "stored" }, { state: "failed" }], "2 stored, 1 failed"],
  [[{ state: "failed", memories: 1200 }], "1,200 failed"],
  [[{ state: "stored" }, { state: "incomplete", memories: 0 }], "1 stored"],
]) {
  test(`outcomes of an import are summed up as "${text}"`, () => assert.equal(countsByState(lines), text));
}

for (const [state, expected] of Object.entries({
  stored: false, duplicate: false, deleted: false, failed: true, incomplete: true, dead_lettered: true, unknown: true,
})) {
  test(`${state} is ${expected ? "" : "not "}a failure`, () => assert.equal(isFailure({ state }), expected));
}

for (const [count, text] of [[0, "0 dead letters"], [1, "1 dead letter"], [2, "2 dead letters"]]) {
  test(`${count} letters are "${text}"`, () => assert.equal(letterCount(count), text));
}

for (const key of ["mnk_MwKq…", "mnk ab", "mnk_ü", "mnk_\u200b"]) {
  test(`the key ${JSON.stringify(key)} is refused`, () => assert.throws(() => checkKey(key), /copy the whole key/));
}
test("a key of printable ASCII is taken", () => assert.equal(checkKey("mnk_a-B~9"), "mnk_a-B~9"));

test("the code challenge is that of RFC 7636, appendix B", async () => {
  const verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
  assert.equal(await challengeOf(verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
});

for (const [body, message] of [
  [{ error: "invalid_grant", error_description: "the code has expired" }, "the code has expired"],
  [{ error: "invalid_grant" }, "invalid_grant"],
  [{}, "The server answered 400."],
]) {
  test(`an answer ${JSON.stringify(body)} is the error "${message}"`, async () => {
    await assert.rejects(readJson(Response.json(body, { status: 400 })), { message });
  });
}
