import assert from "node:assert/strict";
import { test } from "node:test";
import {
  deleteAll, deletedIds, deleteLater, deletionText, replacedText,
} from "../../functions/mnemosyne/http/console/static/deletions.js";
import { client, Refused } from "../../functions/mnemosyne/http/console/static/mcp.js";
import { showToast } from "../../functions/mnemosyne/http/console/static/toast.js";
import { forgetChanges, unsavedChanges } from "../../functions/mnemosyne/http/console/static/unsaved.js";

test("a deletion that fails names the memories that are left", async () => {
  const ids = Array.from({ length: 250 }, (_, index) => String(index));
  const counts = [];
  const callTool = async (_, { ids: part }) => {
    if (counts.length) throw new Error("a legal hold keeps one of them");
    counts.push(part.length);
    return {};
  };
  const { left, error } = await deleteAll(ids, callTool);
  assert.deepEqual([counts, left, error.message], [[100], ids.slice(100), "a legal hold keeps one of them"]);
  assert.deepEqual(await deleteAll(["1"], async () => ({})), { left: [], replaced: [], error: null });
});

test("deleting a memory again does not end its wait", async (t) => {
  const sent = [];
  t.mock.method(client, "request", async (_, { body }) => {
    sent.push(...JSON.parse(body).params.arguments.ids ?? [JSON.parse(body).params.arguments.id]);
    return new Response('{"result": {"structuredContent": {}}}');
  });
  const [tea, cup, pot] = ["tea", "cup", "pot"].map((id) => ({ id, title: id }));
  deleteLater([tea, cup]);
  deleteLater([cup]);
  await new Promise(setImmediate);
  assert.deepEqual(sent, [], "Undo is still possible");
  deleteLater([pot, cup]); // its message replaces the message about tea and cup, so their deletion is final
  await new Promise(setImmediate);
  assert.deepEqual([sent, [...deletedIds.get()]], [["tea", "cup"], ["tea", "cup", "pot"]]);
});

test("unsaved changes are forgotten when their memory is deleted, but not before", async (t) => {
  t.mock.method(client, "request", async () => new Response('{"result": {"structuredContent": {}}}'));
  const [tags, forms] = [unsavedChanges(), unsavedChanges()];
  for (const id of ["lid", "jug"]) for (const changes of [tags, forms]) changes.set(id, {});
  deleteLater([{ id: "lid", title: "lid" }]);
  assert.deepEqual([...tags.keys()], ["lid", "jug"], "Undo is still possible");
  showToast("Another message ends the wait.");
  await new Promise(setImmediate);
  assert.deepEqual([[...tags.keys()], [...forms.keys()]], [["jug"], ["jug"]]);
  forgetChanges();
  assert.deepEqual([tags.size, forms.size], [0, 0]);
});

test("a memory that somebody else has deleted is deleted", async () => {
  const callTool = async () => {
    throw new Refused("no memory has the id 1", 200, 0, "not_found");
  };
  assert.deepEqual(await deleteAll(["1"], callTool), { left: [], replaced: [], error: null });
});

test("the replaced memories of all calls are named, without memories that are deleted too", async () => {
  const ids = Array.from({ length: 101 }, (_, index) => String(index));
  const callTool = async (_, { id }) => ({ still_superseded: id ? ["c"] : ["a", "b", "100"] });
  assert.deepEqual((await deleteAll(ids, callTool)).replaced, ["a", "b", "c"]);
  assert.equal(replacedText(101, 3), "3 memories that they replaced stay hidden.");
  assert.equal(replacedText(1, 1), "The memory that it replaced stays hidden.");
});

test("a deletion is named by whole words, and says what closing the tab does", () => {
  assert.equal(deletionText([{ title: "Label printer" }]), "“Label printer” deleted. Closing the tab keeps it.");
  const long = [{ title: "Mara wants commit messages in the imperative" }];
  assert.match(deletionText(long), /^“Mara wants .* in the…” deleted/);
  assert.match(deletionText([{ title: "a" }, { title: "b" }]), /^2 memories deleted\. Closing the tab keeps them\.$/);
});
