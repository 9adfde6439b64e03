import assert from "node:assert/strict";
import { test } from "node:test";
import { deleteAll, deletionText } from "../../functions/mnemosyne/http/console/static/deletions.js";
import { Refused } from "../../functions/mnemosyne/http/console/static/mcp.js";

test("a deletion that fails names the memories that are left", async () => {
  const ids = Array.from({ length: 250 }, (_, index) => String(index));
  const counts = [];
  const callTool = async (_, { ids: part }) => {
    if (counts.length) throw new Error("a legal hold keeps one of them");
    counts.push(part.length);
  };
  const { left, error } = await deleteAll(ids, callTool);
  assert.deepEqual([counts, left, error.message], [[100], ids.slice(100), "a legal hold keeps one of them"]);
  assert.deepEqual(await deleteAll(["1"], async () => {}), { left: [], error: null });
});

test("a memory that somebody else has deleted is deleted", async () => {
  const callTool = async () => {
    throw new Refused("no memory has the id 1", 200, 0, "not_found");
  };
  assert.deepEqual(await deleteAll(["1"], callTool), { left: [], error: null });
});

test("a deletion is named by whole words, and says what closing the tab does", () => {
  assert.equal(deletionText([{ title: "Label printer" }]), "“Label printer” deleted. Closing the tab keeps it.");
  const long = [{ title: "Mara wants commit messages in the imperative" }];
  assert.match(deletionText(long), /^“Mara wants .* in the…” deleted/);
  assert.match(deletionText([{ title: "a" }, { title: "b" }]), /^2 memories deleted\. Closing the tab keeps them\.$/);
});
