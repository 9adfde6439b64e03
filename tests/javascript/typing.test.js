import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULTS } from "../../functions/mnemosyne/http/console/static/search_form.js";
import { isAnswerTo, pauseAfter, typingArguments } from "../../functions/mnemosyne/http/console/static/typing.js";

const form = (fields = {}) => ({ ...DEFAULTS, ...fields });

test("a typed text is searched by words, within the filters", () => {
  const args = typingArguments(form({ tags: "tea" }), " oolo");
  assert.deepEqual(args, { query: "oolo", typing: true, limit: 20, matches: true, tags: ["tea"] });
});

test("a space at the end is sent, because it ends the last word, and replaced memories are searched if shown", () => {
  const { query, include_superseded: isOld } = typingArguments(form({ old: "yes" }), "oolong ");
  assert.deepEqual([query, isOld], ["oolong ", true]);
});

test("one character is not searched, and mode exact not while somebody types, because it is dear", () => {
  assert.equal(typingArguments(form(), "o "), null);
  assert.equal(typingArguments(form({ mode: "exact" }), "oolong"), null);
});

test("after a hundred requests in a minute only a pause makes one, and after a refusal its end", () => {
  const starts = Array.from({ length: 100 }, (_, index) => 1000 + index);
  assert.equal(pauseAfter(starts.slice(1), 0, 2000), 30);
  assert.equal(pauseAfter(starts, 0, 2000), 600);
  assert.equal(pauseAfter(starts, 0, 61_001), 30);
  assert.equal(pauseAfter([], 9000, 2000), 7000);
});

test("an answer belongs to its query and its filters", () => {
  const answer = { query: "tea ", filters: JSON.stringify({ tags: ["a"] }) };
  assert.ok(isAnswerTo(form({ query: "tea", tags: "a" }), answer));
  assert.ok(!isAnswerTo(form({ query: "tea" }), answer));
  assert.ok(!isAnswerTo(form({ query: "te", tags: "a" }), answer));
});
