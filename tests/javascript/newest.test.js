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
  ["abcd", "abde", false, "abcd"], // c was deleted elsewhere, and e is on the next page
  ["abcd", "xbd", false, "xabcd"],
  ["cd", "ab", false, "abcd"], // more may lie between: the list is loaded again
]) {
  test(`the new ones of ${isWhole ? "the whole list" : "the page"} ${newest} are inserted into "${before}"`, () => {
    const list = items(before);
    const result = mergeNewest(list, items(newest), isWhole);
    assert.equal(result.map(({ id }) => id).join(""), merged);
    assert.ok(list.every((item) => result.includes(item)), "loaded items stay the same objects");
  });
}
