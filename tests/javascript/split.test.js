import assert from "node:assert/strict";
import { test } from "node:test";
import { isSeveral, splitText } from "../../functions/mnemosyne/http/console/static/split.js";

const CASES = [
  ["paragraphs", "One.\nStill one.\n\n\nTwo.", "paragraphs", ["One.\nStill one.", "Two."]],
  ["list items", "- One\n* Two\n3. Three\n4) Four", "list items", ["One", "Two", "Three", "Four"]],
  ["a list with empty lines", "- One\n\n- Two", "list items", ["One", "Two"]],
  ["tasks", "- [ ] One\n- [x] Two", "list items", ["One", "Two"]],
  ["items with indented lines", "- One\n  more\n- Two", "list items", ["One\n  more", "Two"]],
  ["a heading and its paragraph", "# Head\n\nOne.\n\nTwo.", "paragraphs", ["# Head\n\nOne.", "Two."]],
  ["a list with its introduction", "Set this:\n\n- a\n- b\n\nDone.", "paragraphs", ["Set this:\n\n- a\n- b", "Done."]],
  ["code with empty lines", "```\na\n\nb\n```\n\nAfter.", "paragraphs", ["```\na\n\nb\n```", "After."]],
  ["lines of Windows", "One.\r\n\r\nTwo.", "paragraphs", ["One.", "Two."]],
  ["a dash within a text", "One - two\n\n-5 degrees", "paragraphs", ["One - two", "-5 degrees"]],
  ["an indented list", "  - One\n    more\n  - Two\n\n  - Three", "list items", ["One\n  more", "Two", "Three"]],
  ["items of several paragraphs", "1. One\n\n   more\n\n   - a\n   - b\n\n2. Two", "list items",
    ["One\n\n   more\n\n   - a\n   - b", "Two"]],
  ["items with code", "- One\n\n  ```\n  a\n\n  b\n  ```\n\n- Two", "list items",
    ["One\n\n  ```\n  a\n\n  b\n  ```", "Two"]],
  ["a Japanese list", "・一つ\n・二つ", "list items", ["一つ", "二つ"]],
  ["a Chinese list", "1、茶\n2、咖啡\n３．水", "list items", ["茶", "咖啡", "水"]],
  ["Japanese texts that begin with a number", "12．5％増\n\n3、4人が来た", "paragraphs", ["12．5％増", "3、4人が来た"]],
  ["an indented paragraph", "One.\n\n  Two.", "paragraphs", ["One.", "  Two."]],
  ["nothing", " \n ", "paragraphs", []],
];
for (const [name, text, kind, parts] of CASES) {
  test(`split ${name}`, () => assert.deepEqual(splitText(text), { kind, parts }));
}

test("a text has several memories from two to a hundred parts", () => {
  const parts = (count) => splitText(Array.from({ length: count }, (_, index) => `- ${index}`).join("\n"));
  assert.deepEqual([1, 2, 100, 101].map((count) => isSeveral(parts(count))), [false, true, true, false]);
});
