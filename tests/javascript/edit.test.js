// The values that the form of a memory sends, also if the person saves it again after an earlier save.
import assert from "node:assert/strict";
import { test } from "node:test";
import { changesOf, labelsOf, tagChangesOf } from "../../functions/mnemosyne/http/console/static/edit.js";

const MEMORY = { id: "1", title: "Tea", tags: ["a", "b, c"], metadata: { cups: 2 } };
const CHANGES = [
  [{ title: "Coffee" }, { title: "Coffee" }],
  [{ metadata: '{"cups": 3}' }, { metadata: { cups: 3 } }],
  [{ metadata: " " }, { metadata: {} }],
  [{ expiry: "2027-03-01" }, { expires_at: new Date(2027, 2, 1).toISOString() }],
  [{ pinned: true }, { pinned: true }],
];
for (const [fields, changes] of CHANGES) {
  test(`the form ${JSON.stringify(fields)} changes ${JSON.stringify(changes)}`, () => {
    assert.deepEqual(changesOf(MEMORY, { ...labelsOf(MEMORY), ...fields }), { id: "1", ...changes });
  });
}
for (const [tags, changes] of [
  [["a"], { remove_tags: ["b, c"] }], [[], { remove_tags: ["a", "b, c"] }],
  [["a", "b, c", "d"], { add_tags: ["d"] }], [["d", "a"], { add_tags: ["d"], remove_tags: ["b, c"] }],
]) {
  test(`the tags ${JSON.stringify(tags)} in the form change only ${JSON.stringify(changes)}`, () => {
    assert.deepEqual(tagChangesOf(MEMORY, { ...labelsOf(MEMORY), tags }), { id: "1", ...changes });
  });
}
test("a form without a change changes nothing, also if its title was cut from the text", () => {
  const cut = { ...MEMORY, title_given: false };
  assert.equal(labelsOf(cut).title, "");
  for (const memory of [MEMORY, cut]) assert.equal(changesOf(memory, labelsOf(memory)), null);
  assert.equal(tagChangesOf(MEMORY, labelsOf(MEMORY)), null);
});

test("an expiry is shown as its local date, is removed if the field is empty, and is not moved otherwise", () => {
  const expiring = { ...MEMORY, expires_at: new Date(2027, 2, 1, 15, 30).toISOString(), pinned: true };
  assert.equal(labelsOf(expiring).expiry, "2027-03-01");
  assert.equal(changesOf(expiring, labelsOf(expiring)), null);
  const cleared = changesOf(expiring, { ...labelsOf(expiring), expiry: "", pinned: false });
  assert.deepEqual(cleared, { id: "1", expires_at: "none", pinned: false });
});

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
