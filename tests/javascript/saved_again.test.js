// The values that the form of a memory sends if the person saves it again after an earlier save.
import assert from "node:assert/strict";
import { test } from "node:test";
import { changesOf, labelsOf, tagChangesOf } from "../../functions/mnemosyne/http/console/static/edit.js";

const MEMORY = { id: "1", title: "Tea", tags: ["a", "b, c"], metadata: { cups: 2 } };
for (const [sent, fields, changes] of [
  [{ title: "Coffee" }, {}, { title: "Tea" }],
  [{ title: "Coffee" }, { title: "Cocoa" }, { title: "Cocoa" }],
  [{ metadata: '{"cups": 3}' }, {}, { metadata: { cups: 2 } }],
  [{ expiry: "2027-03-01" }, {}, { expires_at: "none" }],
  [{ pinned: true }, {}, { pinned: false }],
  [{ tags: ["a"] }, {}, null],
]) {
  test(`after ${JSON.stringify(sent)} was sent, the form ${JSON.stringify(fields)} sends its value again`, () => {
    const labels = labelsOf(MEMORY);
    const expected = changes && { id: "1", ...changes };
    assert.deepEqual(changesOf(MEMORY, { ...labels, ...fields }, [{ ...labels, ...sent }]), expected);
  });
}
test("an expiry that is changed back to its day keeps its time", () => {
  const memory = { ...MEMORY, expires_at: "2027-03-01T18:00:00Z" };
  const labels = labelsOf(memory);
  const { expires_at: expiry } = changesOf(memory, labels, [{ ...labels, expiry: "2027-04-01" }]);
  assert.equal(expiry, "2027-03-01T18:00:00Z");
});
for (const [sent, tags, changes] of [
  [["a"], ["a", "b, c"], { add_tags: ["b, c"] }],
  [["a", "b, c", "d"], ["a", "b, c"], { remove_tags: ["d"] }],
  [["d"], ["a", "b, c"], { add_tags: ["a", "b, c"], remove_tags: ["d"] }],
]) {
  test(`after the tags ${JSON.stringify(sent)} were sent, the first tags send ${JSON.stringify(changes)}`, () => {
    const earlier = [{ ...labelsOf(MEMORY), tags: sent }];
    assert.deepEqual(tagChangesOf(MEMORY, { ...labelsOf(MEMORY), tags }, earlier), { id: "1", ...changes });
  });
}
for (const title of ["", " "]) {
  test(`the title ${JSON.stringify(title)} is refused`, () => {
    assert.throws(() => changesOf(MEMORY, { ...labelsOf(MEMORY), title }), /Write a title/u);
  });
}
