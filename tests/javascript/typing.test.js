import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULTS } from "../../functions/mnemosyne/http/console/static/search_form.js";
import { isAnswerTo, pauseAfter, typingArguments } from "../../functions/mnemosyne/http/console/static/typing.js";

const form = (fields = {}) => ({ ...DEFAULTS, ...fields });

test("a typed text is searched by words, within the filters", () => {
  const args = typingArguments(form({ tags: "tea" }), " oolo");
  assert.deepEqual(args, { query: "oolo", typing: true, limit: 20, matches: true, tags: ["tea"] });
});

test("a space at the end is sent, because it ends the last word", () =>
  assert.equal(typingArguments(form(), "oolong ").query, "oolong "));

test("one character is not searched", () => assert.equal(typingArguments(form(), "o "), null));

test("mode exact does not search while somebody types, because it is dear", () =>
  assert.equal(typingArguments(form({ mode: "exact" }), "oolong"), null));

test("replaced memories are searched if the page shows them", () =>
  assert.equal(typingArguments(form({ old: "yes" }), "oolong").include_superseded, true));

test("after a hundred requests in a minute only a pause makes one", () => {
  const starts = Array.from({ length: 100 }, (_, index) => 1000 + index);
  assert.equal(pauseAfter(starts.slice(1), 0, 2000), 30);
  assert.equal(pauseAfter(starts, 0, 2000), 600);
  assert.equal(pauseAfter(starts, 0, 61_001), 30);
});

test("after a refusal the next request waits until its end", () =>
  assert.equal(pauseAfter([], 9000, 2000), 7000));

test("an answer belongs to its query and its filters", () => {
  const answer = { query: "tea ", filters: JSON.stringify({ tags: ["a"] }) };
  assert.ok(isAnswerTo(form({ query: "tea", tags: "a" }), answer));
  assert.ok(!isAnswerTo(form({ query: "tea" }), answer));
  assert.ok(!isAnswerTo(form({ query: "te", tags: "a" }), answer));
});
