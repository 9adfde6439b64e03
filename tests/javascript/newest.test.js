import assert from "node:assert/strict";
import { test } from "node:test";
import { compare, mergeNewest } from "../../functions/mnemosyne/http/console/static/memories.js";

const items = (ids) => [...ids].map((id) => ({ id }));

for (const [before, newest, isWhole, merged] of [
  ["", "", true, ""],
  ["", "ab", true, "ab"],
  ["bcd", "abc", false, "abcd"], // at the top
  ["abd", "abcd", false, "abcd"], // of an earlier time, or of the same time
  ["bde", "abcd", false, "abcde"],
  ["abc", "abcd", true, "abcd"], // the oldest of all
  ["abcd", "abde", false, "abd"], // c was deleted elsewhere, and e is on the next page
  ["abcde", "bc", false, "bcde"],
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

for (const [before, newest, isWhole, hasMore, known, all, count] of [
  ["abcdef", "abdxef", true, false, "abdef", "abdxef", 1],
  ["abcdef", "abcdefx", true, false, "abcdef", "abcdefx", 1], // the oldest of all
  ["abcdef", "abcdefx", false, true, "abcdef", "abcdef", 0], // x is on the next page
  ["abcdef", "abcdefx", true, true, "abcdefx", "abcdefx", 0], // x would be the next page
  ["abcdef", "xacdefyz", false, true, "acdef", "xacdef", 1],
  ["abcdef", "xyabc", true, true, "abc", "xyabc", 2],
  ["abc", "xy", true, true, "xy", "xy", 0],
  ["abc", "xy", true, false, "", "xy", 2],
  ["abc", "", true, true, "", "", 0],
]) {
  test(`"${before}"${hasMore ? " and more" : ""} becomes "${all}" like the pages "${newest}"`, () => {
    const result = compare(items(before), { items: items(newest), isWhole, hasMore });
    const [inKnown, inAll] = [result.known, result.all].map((list) => list.map(({ id }) => id).join(""));
    assert.deepEqual([inKnown, inAll, result.count], [known, all, count]);
  });
}

for (const [newest, isWhole, isGap] of [["xyzbc", false, false], ["xyz", false, true], ["xyz", true, false]]) {
  test(`the pages "${newest}"${isWhole ? " of the whole list" : ""} ${isGap ? "may leave a" : "leave no"} gap`, () => {
    assert.equal(compare(items("abc"), { items: items(newest), isWhole, hasMore: true }).isGap, isGap);
  });
}
