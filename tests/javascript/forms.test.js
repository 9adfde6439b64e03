import assert from "node:assert/strict";
import { test } from "node:test";
import { checkKey } from "../../functions/mnemosyne/http/console/static/account.js";
import { groupImports } from "../../functions/mnemosyne/http/console/static/requests.js";
import * as add from "../../functions/mnemosyne/http/console/static/add.js";
import { partsOf, tagsOf } from "../../functions/mnemosyne/http/console/static/bulk.js";
import * as hit from "../../functions/mnemosyne/http/console/static/hit.js";
import { countsOf, isFailure, timeLeft } from "../../functions/mnemosyne/http/console/static/imports.js";
import { timesText } from "../../functions/mnemosyne/http/console/static/memory.js";
import { withTags } from "../../functions/mnemosyne/http/console/static/memories.js";
import { bytesText, limitsOf } from "../../functions/mnemosyne/http/console/static/overview.js";
import { countRatings } from "../../functions/mnemosyne/http/console/static/rating.js";
import { resultText } from "../../functions/mnemosyne/http/console/static/results.js";
import * as row from "../../functions/mnemosyne/http/console/static/row.js";
import * as search from "../../functions/mnemosyne/http/console/static/search_form.js";
import { recordOf } from "../../functions/mnemosyne/http/console/static/side.js";
import { optionsOf } from "../../functions/mnemosyne/http/console/static/tag_field.js";
import { lookAlikes } from "../../functions/mnemosyne/http/console/static/tag_list.js";
import { whySentence } from "../../functions/mnemosyne/http/console/static/why.js";

const url = (address) => new URL(address, "http://localhost");
const EMPTY = search.formOf(url("/"));

const SEARCHES = [
  [{}, "/"],
  [{ query: "tea" }, "/?q=tea"],
  [{ query: "a&b = c", mode: "exact" }, "/?q=a%26b+%3D+c&mode=exact"],
  [{ time: "last week", tags: '"red, green"' }, "/?time=last+week&tags=%22red%2C+green%22"],
  [{ after: "2026-05-01", session: "a b" }, "/?after=2026-05-01&session=a+b"],
  [{ quality: "0.5", old: "yes", order: "oldest" }, "/?quality=0.5&old=yes&order=oldest"],
];
for (const [fields, address] of SEARCHES) {
  test(`a search ${JSON.stringify(fields)} has the address ${address} and is read from it`, () => {
    assert.equal(search.addressOf({ ...EMPTY, ...fields }), address);
    assert.deepEqual(search.formOf(url(address)), { ...EMPTY, ...fields });
  });
}

for (const address of ["/?q=", "/?q=%20%20", "/?tags=%20&q=%09&time=%20", "/?mode=&order=+"]) {
  test(`parameters of white space in ${address} count as absent`, () => {
    assert.deepEqual(search.formOf(url(address)), EMPTY);
  });
}

const BASE = { query: "tea", mode: "hybrid", limit: 20, include_debug: true, matches: true };
const SEARCH_ARGUMENTS = [
  [{}, {}],
  [{ mode: "exact" }, { mode: "exact" }],
  [{ time: "last week" }, { time_expr: "last week", timezone: process.env.TZ }],
  [{ before: "2026-05-02" }, { before: "2026-05-02", timezone: process.env.TZ }],
  [{ tags: '"red, green", a', session: "s" }, { tags: ["red, green", "a"], session: "s" }],
  [{ quality: "0" }, { quality_boost: 0 }],
  [{ quality: "much" }, { quality_boost: "much" }], // the server refuses it
  [{ old: "yes" }, { include_superseded: true }],
];
for (const [fields, args] of SEARCH_ARGUMENTS) {
  test(`a search ${JSON.stringify(fields)} asks for ${JSON.stringify(args)}`, () => {
    assert.deepEqual(search.searchArguments({ ...EMPTY, query: "tea", ...fields }, 20), { ...BASE, ...args });
  });
}

test("a list hides replaced memories unless they are asked for", () => {
  assert.deepEqual(search.listArguments(EMPTY, 50), { limit: 50, preview: true, include_superseded: false });
  const asked = search.listArguments({ ...EMPTY, old: "yes", order: "oldest" }, 50);
  assert.deepEqual(asked, { limit: 50, preview: true, include_superseded: true, order: "oldest" });
});

test("a tag is added to the filter and removed from it", () => {
  const one = search.toggleTag(EMPTY, "a");
  assert.equal(search.toggleTag(one, "b, c").tags, 'a, "b, c"');
  assert.equal(search.toggleTag(one, "a").tags, "");
  assert.equal(search.hasFilter(one), true);
  assert.equal(search.hasFilter(search.withoutFilters(one)), false);
});

const hits = (...levels) => levels.map((confidence) => ({ confidence }));
for (const [levels, text] of [
  [[], "No matches"], [["strong", "strong", "related", "weak"], "2 strong matches, 1 related"],
  [["related", "weak"], "1 related match"], [["weak", "weak"], "2 weak matches"],
]) {
  test(`results ${levels.join(", ")} are "${text}"`, () => assert.equal(resultText(hits(...levels)), text));
}

test("results are grouped by confidence, the best first", () => {
  const groups = hit.groupsByConfidence(hits("weak", "strong", "weak"));
  assert.deepEqual(groups.map(({ level, hits: members }) => [level, members.length]), [["strong", 1], ["weak", 2]]);
});

const marked = (segments) => segments?.map(({ text, isMark }) => (isMark ? `<${text}>` : text)).join("");
test("matched words are marked in title and passage, counted in code points", () => {
  const memory = { title: "😀 Tea", title_given: true, content: "Green 😀 tea.", matches: { title: [[2, 5]],
    content: [[8, 11]] } };
  const { heading, passage } = hit.partsOf(memory);
  assert.deepEqual([marked(heading), marked(passage)], ["😀 <Tea>", "Green 😀 <tea>."]);
});

test("a title that was cut from the content is not shown", () => {
  assert.equal(hit.partsOf({ title: "Green t", title_given: false, content: "Green tea." }).heading, null);
  assert.deepEqual(row.labelsOf({ title: "Green t", title_given: false, preview: "Green tea." }),
    { title: "", text: "Green tea." });
  assert.deepEqual(row.labelsOf({ title: "Tea", title_given: true, preview: "Green." }), { title: "Tea",
    text: "Green." });
});

const WHYS = [
  [{ vector_score: 0.4, matched_words: ["tea"] }, "strong", "hybrid", "Close in meaning; has tea"],
  [{ vector_score: 0.1, matched_words: [] }, "weak", "hybrid", "Loosely related in meaning"],
  [{ vector_score: 0, matched_words: ["tea", "cup"] }, "related", "hybrid", "Has tea, cup"],
  [{ vector_score: 0.1, neighbours: 0.7, time: 0.2, speaker: 0.2, matched_words: [] }, "related", "hybrid",
    "Related in meaning; from the time that you name; said by the person that you name; "
      + "next to other results in its session"],
  [{ matched_words: [] }, "strong", "exact", "Contains this text"],
];
for (const [why, confidence, mode, text] of WHYS) {
  test(`"${text}" says why`, () => assert.equal(whySentence(why, { confidence, mode }), text));
}

const FORM = { content: "a", title: "", tags: [], when: "", session: "", metadata: "" };
const STORED = [
  [{}, null, {}],
  [{ title: "T", tags: ["x"], session: "s" }, null, { title: "T", tags: ["x"], session: "s" }],
  [{ when: "2026-05-01" }, null, { timestamp: "2026-05-01", timezone: process.env.TZ }],
  [{ when: "last week" }, "2026-05-01T00:00:00Z", { timestamp: "2026-05-01T00:00:00Z" }],
  [{ metadata: '{"a": 1}' }, null, { metadata: { a: 1 } }],
];
for (const [fields, start, args] of STORED) {
  test(`a form ${JSON.stringify(fields)} stores ${JSON.stringify(args)}`, () => {
    assert.deepEqual(add.argumentsOf({ ...FORM, ...fields }, start), { content: "a", ...args });
  });
}

test("a key without the scope read takes a date as the time of a memory, but no words", async () => {
  const may = new Set(["ingest_memory"]);
  for (const when of ["", "2026-05-01", "2026-05-01 09:30", "2026-05-01T09:30Z"]) {
    assert.equal(await add.startOf(when, may), null);
  }
  await assert.rejects(add.startOf("last week", may), /^Error: Write a date, such as 2026-05-01: your key lacks/);
});

for (const [fields, args] of [
  [{ content: "Tea is hot." }, null],
  [{ content: "Tea is always hot.", session: "s" }, { content: "Tea is always hot.", session: "s" }],
]) {
  test(`a form ${JSON.stringify(fields)} is compared as ${JSON.stringify(args)}`, () => {
    assert.deepEqual(add.similarArguments({ ...FORM, ...fields }), args);
  });
}

const KNOWN = [{ tag: "tea", memories: 3 }, { tag: "teapot", memories: 9 }, { tag: "Cup", memories: 1 }];
for (const [typed, chosen, expected] of [
  ["", [], ["tea", "teapot", "Cup"]], ["TEA", [], ["tea", "teapot"]], ["te", ["tea"], ["teapot", "+te"]],
  ["cups", [], ["+cups"]], ["cup", [], ["Cup"]],
]) {
  test(`"${typed}" offers ${expected.join(", ")}`, () => {
    const options = optionsOf(typed, { prefix: typed, tags: KNOWN }, chosen);
    assert.deepEqual(options.map(({ tag, isNew }) => (isNew ? `+${tag}` : tag)), expected);
  });
}

for (const tags of [["c", "c++", "c#"], ["काल", "कील", "कल"], ["か", "が"], ["весь", "вёсь"]]) {
  test(`the tags ${tags} are different`, () => {
    assert.deepEqual(lookAlikes(tags.map((tag) => ({ tag, memories: 1 }))), []);
  });
}

for (const [tag, to] of [["cafe", "café"], ["nodejs", "node.js"], ["to do", "to-do"], ["howto", "How-To"]]) {
  test(`the tags ${tag} and ${to} look alike`, () => {
    assert.deepEqual(lookAlikes([{ tag, memories: 1 }, { tag: to, memories: 2 }]), [{ tag, to }]);
  });
}

test("a change of tags is shown at once", () => {
  const items = [{ id: "1", tags: ["a", "b"] }, { id: "2" }, { id: "3", tags: ["a"] }];
  assert.deepEqual(withTags(items, ["1", "2"], ["c"], ["a"]).map(({ tags }) => tags), [["b", "c"], ["c"], ["a"]]);
  assert.deepEqual(tagsOf(items), ["a", "b"]);
});

test("ids are sent a hundred at a time", () => {
  assert.deepEqual(partsOf(Array.from({ length: 250 })).map(({ length }) => length), [100, 100, 50]);
});

test("an import's requests that follow each other are one group", () => {
  const requests = [null, "a", "a", "b", null].map((name) => ({ import_name: name }));
  assert.deepEqual(groupImports(requests).map(({ requests: members }) => members.length), [1, 2, 1, 1]);
});

test("lines of an import are counted by what became of them", () => {
  const lines = [{ state: "stored" }, { state: "duplicate" }, { state: "failed", memories: 1200 },
    { state: "incomplete", memories: 0 }];
  assert.deepEqual(countsOf(lines), { stored: 1, duplicates: 1, failed: 1200 });
});
test("a memory that was stored before or deleted since is no failure", () => {
  const states = ["stored", "duplicate", "deleted", "failed", "incomplete", "dead_lettered", "unknown"];
  const failures = states.filter((state) => isFailure({ state }));
  assert.deepEqual(failures, ["failed", "incomplete", "dead_lettered", "unknown"]);
});
for (const [done, text] of [[1, ""], [50, "about 10 seconds left"], [100, ""], [6, "about 3 minutes left"]]) {
  test(`after ${done} of 100 in 10 seconds "${text}" is shown`, () => {
    assert.equal(timeLeft({ total: 100, done, start: 0 }, 10_000), text);
  });
}

test("ratings are counted, and the person's own is known", () => {
  const ratings = [{ rating: 1, mine: true }, { rating: 1 }, { rating: -1 }, { rating: 0 }];
  assert.deepEqual(countRatings(ratings), { helped: 2, misled: 1, mine: 1 });
  const texts = [1, 2, 3].map((count) => timesText("Helped", count));
  assert.deepEqual(texts, ["Helped once", "Helped twice", "Helped 3 times"]);
});

test("the record says when a memory was stored again, not that it was read", () => {
  const stored = "2026-01-01T00:00:00Z";
  const memory = { created_at: stored, last_seen_at: stored, quality: 0.5, metadata: {} };
  const names = (of) => recordOf(of).map(([name]) => name);
  assert.deepEqual(names(memory), ["Stored", "Quality"]);
  assert.deepEqual(names({ ...memory, last_seen_at: "2026-02-01T00:00:00Z" }), ["Stored", "Stored again", "Quality"]);
});

test("only limits that are set are shown, with their shares", () => {
  const quota = { memories: 5, memories_limit: 10, bytes: 1, bytes_limit: null, texts_today: 0, texts_limit: 0 };
  const limits = limitsOf(quota);
  assert.deepEqual(limits.map(({ name, share }) => [name, share]), [["Memories", 0.5], ["New texts today", 1]]);
});
for (const [bytes, text] of [[0, "0 bytes"], [1023, "1,023 bytes"], [1024, "1 KiB"], [3_250_586, "3.1 MiB"]]) {
  test(`${bytes} bytes are ${text}`, () => assert.equal(bytesText(bytes), text));
}

test("only a timeline without filters counts replaced memories", () => {
  assert.deepEqual(search.timelineFilters({ ...EMPTY, time: "May" }), { include_superseded: true });
  assert.deepEqual(search.timelineFilters({ ...EMPTY, tags: "tea" }), { include_superseded: false, tags: ["tea"] });
});

test("only a key of printable ASCII is taken", () => {
  assert.equal(checkKey("mnk_a-B~9"), "mnk_a-B~9");
  for (const key of ["mnk_MwKq…", "mnk ab", "mnk_\u200b"]) assert.throws(() => checkKey(key), /copy the whole key/);
});
