import assert from "node:assert/strict";
import { test } from "node:test";
import { partsOf } from "../../functions/mnemosyne/http/console/static/slices.js";

const list = (start, end) => Array.from({ length: end - start }, (_, index) => ({ id: `item ${start + index}` }));
const keyById = (parts) => new Map(parts.flatMap(({ key, items }) => items.map(({ id }) => [id, key])));

test("parts keep the order of the items, and none has more than 24", () => {
  const parts = partsOf(list(0, 500), new Map());
  assert.deepEqual(parts.flatMap(({ items }) => items), list(0, 500));
  assert.deepEqual([...new Set(parts.map(({ items }) => items.length))], [24, 20]);
  assert.deepEqual(partsOf([], new Map()), []);
});

test("each item stays in its part, and no two parts have the same key, while items are added and removed", () => {
  const keys = new Map();
  const before = keyById(partsOf(list(100, 200), keys));
  const lists = [list(100, 300), list(99, 300), list(40, 300), list(40, 300).filter((_, index) => index % 7),
    [...list(40, 150), { id: "between" }, ...list(150, 400)], list(0, 400)];
  for (const items of lists) {
    const parts = partsOf(items, keys);
    assert.deepEqual(parts.flatMap((part) => part.items), items);
    assert.equal(new Set(parts.map(({ key }) => key)).size, parts.length);
    const after = keyById(parts);
    for (const [id, key] of before) assert.equal(after.get(id) ?? key, key);
  }
});
