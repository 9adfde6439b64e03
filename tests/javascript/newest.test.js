import assert from "node:assert/strict";
import { test } from "node:test";
import { mergeNewest } from "../../functions/mnemosyne/http/console/static/memories.js";

const items = (ids) => [...ids].map((id) => ({ id }));

for (const [before, newest, isWhole, merged] of [
  ["", "", true, ""],
  ["", "ab", true, "ab"],
  ["bcd", "abc", false, "abcd"], // at the top
  ["abd", "abcd", false, "abcd"], // of an earlier time, or of the same time
  ["bde", "abcd", false, "abcde"],
  ["abc", "abcd", true, "abcd"], // the oldest of all
  ["abcd", "abde", false, "abd"], // c was deleted elsewhere, and e is on the next page
  ["abcd", "xbd", false, "xbd"],
  ["abcde", "bc", false, "bcde"],
  ["abc", "b", true, "b"],
  ["abc", "", true, ""],
  ["cd", "ab", false, "abcd"], // more may lie between: the list is loaded again
]) {
  test(`"${before}" becomes like ${isWhole ? "the whole list" : "the page"} "${newest}"`, () => {
    const list = items(before);
    const result = mergeNewest(list, items(newest), isWhole);
    assert.equal(result.map(({ id }) => id).join(""), merged);
    const ids = new Set(before);
    assert.ok(result.every((item) => !ids.has(item.id) || list.includes(item)), "loaded items stay the same objects");
  });
}

for (const [before, newest, moved, merged] of [
  ["abcdef", "bcda", "a", "bcdaef"],
  ["abcdefgh", "abch", "h", "abchdefg"],
  ["abcdef", "abxe", "e", "abxecdf"],
  ["abcd", "d", "d", "dabc"],
]) {
  test(`"${before}" becomes like the page "${newest}", if ${moved} has another time`, () => {
    const page = items(newest).map((item) => (item.id === moved ? { ...item, timestamp: "2026-05-20" } : item));
    assert.equal(mergeNewest(items(before), page, false).map(({ id }) => id).join(""), merged);
  });
}

test("a memory that another client has changed gets its new fields, and others stay the same objects", () => {
  const before = [{ id: "a", title: "old", tags: [] }, { id: "b", title: "b", tags: ["x"] }];
  const result = mergeNewest(before, [{ id: "a", title: "new", tags: [] }, { id: "b", title: "b", tags: ["x"] }], true);
  assert.equal(result[0].title, "new");
  assert.equal(result[1], before[1]);
});
