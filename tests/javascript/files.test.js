import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { filesOf, pathOf } from "../../functions/mnemosyne/http/console/static/folders.js";
import { count, Import } from "../../functions/mnemosyne/http/console/static/import_file.js";
import { Client, Refused } from "../../functions/mnemosyne/http/console/static/mcp.js";
import { emptyReason, plainName, splitFile } from "../../functions/mnemosyne/http/console/static/file_chunks.js";

const START = "[[[CHRONICLE_START]]]";
const END = "[[[CHRONICLE_END]]]";
const fileOf = (name, content) => new File([content], name, { lastModified: Date.UTC(2026, 4, 1) });
const repeat = (number, text) => Array.from({ length: number }, (_, index) => text(index)).join("");
const line = (index) => `{"content": "${index}"}\n`;
const chronicle = (index) => `${START}\nBODY: ${index}\n${END}\n\n`;

async function partsOf(name, content) {
  const parts = [];
  for await (const part of splitFile(fileOf(name, content))) parts.push(part);
  return parts;
}

const SIZES = [
  ["note.md", "---\ntitle: Rowing\n---\nBob rows.", [1]],
  ["note.MARKDOWN", "a", [1]],
  ["empty.jsonl", "", []],
  ["blank.jsonl", "\n \n", []],
  ["two.ndjson", "{}\n\n{}\n", [2]],
  ["many.jsonl", repeat(250, line), [100, 100, 50]],
  ["exact.jsonl", repeat(200, line), [100, 100]],
  ["talk.chronicle", repeat(120, chronicle), [50, 50, 20]],
  ["shopping.txt", "milk\nbread", [1]],
  ["empty.txt", "", []],
  ["vectors.jsonl", repeat(30, () => `{"embedding": [${"0.5, ".repeat(1535)}0.5]}\n`), [13, 13, 4]],
  ["long.jsonl", repeat(3, () => `${"x".repeat(900_000)}\n`), [2, 1]],
];
for (const [name, content, memories] of SIZES) {
  test(`${name} has parts of ${JSON.stringify(memories)} memories, with and without gzip`, async () => {
    for (const [given, bytes] of [[name, content], [`${name}.gz`, gzipSync(content)]]) {
      const parts = await partsOf(given, bytes);
      assert.deepEqual(parts.map((part) => part.memories), memories);
      assert.equal(await count(fileOf(given, bytes)), memories.reduce((sum, number) => sum + number, 0));
    }
  });
}

test("parts have the whole text and their first lines, and a chronicle is never split", async () => {
  const parts = await partsOf("many.jsonl", repeat(250, line));
  assert.deepEqual(parts.map(({ firstLine }) => firstLine), [1, 101, 201]);
  assert.equal(parts.map(({ text }) => text).join(""), repeat(250, line));
  for (const { text } of await partsOf("talk.chronicle", repeat(120, chronicle))) {
    assert.equal(text.split(START).length, text.split(END).length);
  }
});

const LONG_CHRONICLE = `${START}\n${repeat(20_001, () => `${"x".repeat(99)}\n`)}`;
const REFUSED = [
  ["wrong.pdf", "x", /its name must end in \.jsonl/],
  ["wrong.gz", gzipSync("x"), /its name must end in \.jsonl/],
  ["long.md", "x".repeat(2_000_001), /a note must have at most 2,000,000 characters/],
  ["long.jsonl", "x".repeat(2_000_001), /a line must have at most 2,000,000 characters/],
  ["long.chronicle", LONG_CHRONICLE, /a chronicle must have at most 2,000,000 characters/],
  ["latin.jsonl", new Uint8Array([0x7b, 0xe9, 0x7d]), /it is not UTF-8/],
  ["cut.jsonl.gz", gzipSync(repeat(5000, line)).subarray(0, 900), /it is not a complete gzip file/],
  ["none.jsonl.gz", "plain", /it is not a complete gzip file/],
  ["bomb.md.gz", gzipSync("x".repeat(3_000_000)), /a note must have at most/],
];
for (const [name, content, message] of REFUSED) {
  test(`${name} is refused with ${message}`, () => assert.rejects(partsOf(name, content), message));
}

test("the reason for a file without memories names its kind, also if its name ends in .gz", () => {
  assert.equal(plainName("a.JSONL.GZ"), "a.JSONL");
  assert.match(emptyReason("a.txt.gz"), /no chronicle/);
  assert.match(emptyReason("a.jsonl"), /no memories/);
});

// Returns a fake server that stores each imported line. `fail` is called for each call, and can throw an error.
function serverOf(fail = () => {}, stateOf = () => "stored") {
  const calls = [];
  const callTool = async (name, args) => {
    calls.push([name, args]);
    fail(name, args, calls);
    if (name !== "import_memories") return {};
    const items = args.text.trim().split("\n").map((text, index) => ({
      line: args.first_line + index, request_id: `r${args.first_line + index}`, ...JSON.parse(text),
    }));
    return { items: items.map((item) => (item.error ? { line: item.line, error: item.error } : item)) };
  };
  const outcomes = async (ids, onStatus) => {
    onStatus(ids.map((id) => ({ request_id: id, state: stateOf(id), memory_id: `m${id.slice(1)}` })));
  };
  return { calls, retrying: () => callTool, outcomes };
}

function importOf(content, server) {
  const lines = [];
  return { lines, work: new Import(fileOf("a.jsonl", content), (entry) => lines.push(entry), undefined, server) };
}

const statesOf = (lines) => lines.map(({ line: number, state }) => `${number} ${state}`).sort();

test("every line has its outcome", async () => {
  const server = serverOf();
  const { lines, work } = importOf('{}\n{"error": "no content"}\n{}\n', server);
  assert.equal(await work.run(), true);
  assert.deepEqual(statesOf(lines), ["1 stored", "2 failed", "3 stored"]);
  assert.equal(server.calls[0][1].modified, "2026-05-01T00:00:00.000Z");
});

test("a part that is refused fails with its lines, and the rest is imported", async () => {
  const { lines, work } = importOf(repeat(150, () => "{}\n"), serverOf((name, args) => {
    if (args.first_line === 1) throw new Refused("too long", 200);
  }));
  assert.equal(await work.run(), true);
  const [failed] = lines.filter(({ state }) => state === "failed");
  assert.deepEqual([failed.memories, failed.error], [100, "lines 1 to 100: too long"]);
  assert.equal(lines.filter(({ state }) => state === "stored").length, 50);
});

for (const status of [0, 401, 429, 503]) {
  test(`status ${status} stops the import, which then resumes where it stopped`, async () => {
    const state = { isAway: true };
    const server = serverOf((name, args) => {
      if (state.isAway && args.first_line === 101) throw new Refused("away", status);
    });
    const { lines, work } = importOf(repeat(150, () => "{}\n"), server);
    await assert.rejects(work.run(), { message: "away" });
    state.isAway = false;
    assert.equal(await work.run(), true);
    assert.equal(lines.length, 150);
    assert.deepEqual(server.calls.map(([, { first_line: first }]) => first), [1, 101, 101]);
  });
}

test("an import that a new log-in has stopped continues only when the person resumes it", async () => {
  const state = { imported: 0 };
  const request = async (_, { body }) => {
    const { name, arguments: { first_line: first, request_ids: ids } } = JSON.parse(body).params;
    const requests = ids?.map((id) => ({ request_id: id, state: "stored", memory_id: "m" }));
    if (name === "import_memories") state.imported += 1;
    if (state.imported === 1) client.logIn("another key of the person");
    const answer = requests ? { requests } : { items: [{ line: first, request_id: `r${first}` }] };
    return new Response(JSON.stringify({ result: { structuredContent: answer } }));
  };
  const client = new Client({ request });
  const { lines, work } = importOf(repeat(150, () => "{}\n"), client);
  await assert.rejects(work.run(), { status: 401 });
  state.imported = 2;
  await assert.rejects(work.run(), { status: 401 });
  assert.equal(await work.resume(), true);
  assert.deepEqual(statesOf(lines), ["1 stored", "101 stored"]);
});

test("an import that is stopped resumes without repeating a line", async () => {
  const started = { work: null };
  const server = serverOf((name, args, calls) => { if (calls.length === 2) started.work.stop(); });
  const { lines, work } = importOf(repeat(1000, () => "{}\n"), server);
  started.work = work;
  assert.equal(await work.run(), false);
  assert.ok(lines.length < 1000);
  assert.equal(await work.run(), true);
  assert.deepEqual([lines.length, new Set(lines.map(({ line: number }) => number)).size], [1000, 1000]);
});

test("an export restores tags and what supersedes a memory", async () => {
  const server = serverOf();
  const { lines, work } = importOf([
    '{"content_hash": "a", "tags": ["x"], "superseded_by_hash": "b"}',
    '{"content_hash": "b", "tags": []}',
    '{"content_hash": "c", "superseded_by_hash": "elsewhere"}',
    '{"content_hash": "d", "tags": ["None"]}',
  ].join("\n"), server);
  assert.equal(await work.run(), true);
  assert.deepEqual(server.calls.slice(1).map(([, args]) => args), [
    { id: "m1", tags: ["x"] }, { id: "m1", superseded_by: "m2" }, { id: "m2", tags: ["none"] },
    { id: "m4", tags: ["none"] }, { id: "m4", add_tags: ["None"] },
  ]);
  const incomplete = lines.filter(({ state }) => state === "incomplete");
  assert.deepEqual(incomplete.map(({ line: number }) => number), [3]);
  assert.match(incomplete[0].error, /the memory that supersedes it is not in this file/);
});

for (const status of [0, 401, 429]) {
  test(`after status ${status}, an import resumes at the first labels that were not set`, async () => {
    const state = { isAway: true };
    const server = serverOf((name, { id, superseded_by: successor }) => {
      if (state.isAway && id === "m1" && successor) throw new Refused("away", status);
    });
    const { lines, work } = importOf([
      '{"content_hash": "a", "tags": ["x"], "superseded_by_hash": "b"}',
      '{"content_hash": "b", "tags": ["y"], "superseded_by_hash": "elsewhere"}',
    ].join("\n"), server);
    await assert.rejects(work.run(), { message: "away" });
    state.isAway = false;
    assert.equal(await work.resume(), true);
    assert.deepEqual(statesOf(lines), ["1 stored", "2 incomplete", "2 stored"]);
    assert.deepEqual(server.calls.slice(-2).map(([, args]) => args), [
      { id: "m1", superseded_by: "m2" }, { id: "m2", tags: ["y"] },
    ]);
  });
}

test("an import that is stopped while labels are set sets the other labels after it is resumed", async () => {
  const started = { work: null };
  const server = serverOf((name) => { if (name === "update_memory") started.work.stop(); });
  const { work } = importOf(['{"content_hash": "a", "tags": ["x"]}', '{"content_hash": "b", "tags": ["y"]}'].join("\n"),
    server);
  started.work = work;
  assert.equal(await work.run(), false);
  assert.deepEqual(server.calls.slice(1).map(([, { id }]) => id), ["m1"]);
  await work.resume();
  assert.deepEqual(server.calls.slice(1).map(([, { id }]) => id), ["m1", "m2"]);
});

test("a memory that existed before the import of an export is not changed", async () => {
  const server = serverOf(undefined, (id) => (id === "r2" ? "stored" : "duplicate"));
  const { lines, work } = importOf([
    '{"content_hash": "a", "tags": ["x"], "superseded_by_hash": "b"}',
    '{"content_hash": "b"}',
    '{"content_hash": "c", "superseded_by_hash": "elsewhere"}',
  ].join("\n"), server);
  assert.equal(await work.run(), true);
  assert.equal(server.calls.length, 1);
  assert.deepEqual(statesOf(lines), ["1 duplicate", "2 stored", "3 duplicate"]);
});

// Returns an entry of a dropped folder. With `entries`, it is a folder itself.
const entryOf = (name, fullPath, entries) => ({
  name, fullPath, isFile: !entries, isDirectory: Boolean(entries),
  file: (resolve) => resolve(fileOf(name, "{}\n")),
  createReader: () => ({ readEntries: (resolve) => resolve(entries.splice(0, 100)) }),
});
const drop = async (entry) => (await filesOf({ items: [{ webkitGetAsEntry: () => entry }], files: [] })).inFolders;

test("all files of a dropped folder are collected, except those of hidden folders", async () => {
  const notes = Array.from({ length: 6000 }, (_, index) => entryOf(`${index}.md`, `/notes/${index}.md`));
  const hidden = entryOf(".trash", "/notes/.trash", [entryOf("gone.md", "/notes/.trash/gone.md")]);
  assert.equal((await drop(entryOf("notes", "/notes", [hidden, ...notes]))).length, 6000);
});

for (const path of ["posts/index.md", "posts/tea/index.md", "a/b.textbundle/text.md"]) {
  test(`${path} of a folder is imported with its path, so that equal file names have different keys`, async () => {
    const names = path.split("/");
    const chosen = fileOf(names.at(-1), "{}\n");
    Object.defineProperty(chosen, "webkitRelativePath", { value: path });
    const dropped = names.reduceRight((inner, name, index) =>
      entryOf(name, `/${names.slice(0, index + 1).join("/")}`, inner && [inner]), undefined);
    for (const file of [chosen, ...await drop(dropped)]) {
      assert.equal(pathOf(file), path);
      const server = serverOf();
      await new Import(file, () => {}, undefined, server).run();
      assert.equal(server.calls[0][1].name, path);
    }
  });
}

test("a file outside a folder is imported with its name", async () => {
  const file = fileOf("index.md", "{}\n");
  const { files } = await filesOf({ items: [{ webkitGetAsEntry: () => ({ isFile: true }) }], files: [file] });
  assert.deepEqual(files.map(pathOf), ["index.md"]);
});
