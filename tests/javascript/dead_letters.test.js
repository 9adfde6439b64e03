import assert from "node:assert/strict";
import { test } from "node:test";
import { waitingLetters } from "../../functions/mnemosyne/http/console/static/dead_letters.js";

test("the dead letters to retry are those of all pages, without letters that are in flight", async () => {
  const letter = (id, redrivenAt = null) => ({ message_id: id, redriven_at: redrivenAt });
  const pages = {
    first: { dead_letters: [letter("1"), letter("2", "2026-05-01T00:00:00Z")], next_cursor: "second" },
    second: { dead_letters: [letter("3")], next_cursor: "third" },
    third: { dead_letters: [letter("4")], next_cursor: null },
  };
  const callTool = async (name, { cursor = "first" }) => name === "list_dead_letters" && pages[cursor];
  assert.deepEqual(await waitingLetters(callTool), { ids: ["1", "3", "4"], inFlight: 1 });
});
