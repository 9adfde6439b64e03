import assert from "node:assert/strict";
import { test } from "node:test";
import { choiceOf } from "../../functions/mnemosyne/http/console/static/filters.js";

for (const [input, names, isWhole, choice] of [
  [" go ", ["mongodb"], false, "go"], // not among the most used tags
  ["go", ["mongodb"], true, "go"],
  ["chat-30", ["chat-300"], false, "chat-30"],
  ["chat-30", ["chat-30", "chat-300"], true, "chat-30"],
  ["HOWT", ["howto", "cup"], true, "howto"],
  ["HOWT", ["howto", "howtos"], true, "HOWT"],
  ["HOWTO", ["howto", "howtos"], false, "howto"],
  ["Go", ["go", "Go"], false, "Go"],
  ["iş", ["İş", "İşler"], true, "İş"],
  ["A\u0308rz", ["Ärzte"], true, "Ärzte"],
  ["STRASSE", ["straße", "straßen"], true, "straße"],
  ["ёлка", ["ЁЛКА"], true, "ЁЛКА"],
  ["ネコ", ["ねこ"], true, "ネコ"],
  ["new", [], true, "new"],
  ["", ["howto"], true, ""],
]) {
  test(`Enter after "${input}" chooses "${choice}" from ${isWhole ? "all" : "the first"} names ${names}`, () => {
    assert.equal(choiceOf(input, names, isWhole), choice);
  });
}
