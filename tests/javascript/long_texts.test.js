// Texts with the maximum number of characters that the page formats. Each is parsed in less than a second. If a regular
// expression backtracked over a long run of characters, this would take minutes, and the tab would not respond.
import assert from "node:assert/strict";
import { test } from "node:test";
import vm from "node:vm";
import { MOST_CHARACTERS, parseMarkdown } from "../../functions/mnemosyne/http/console/static/markdown.js";
import { bodyOf } from "../../functions/mnemosyne/http/console/static/text.js";

const MOST_MS = 20_000;
const TEXTS = {
  "spaces within a line": ["a", " ", "b"],
  "empty lines": ["a", "\n", "b"],
  "spaces within a heading": ["# a", " ", "b"],
  "tabs before a line separator in a heading": ["# ", "\t", "\u2028b"],
  "tabs before a line separator in an item": ["- ", "\t", "\u2028b"],
  "tabs in the divider of a table": ["a|b\n-", "\t", "b"],
  "tabs between tildes and a backtick": ["~~~", "\t", "`"],
  "tildes before a backtick": ["a\n~~~", "~", "`"],
};
const context = vm.createContext({ format: (text) => parseMarkdown(bodyOf(text)) });

for (const [name, [start, middle, end]] of Object.entries(TEXTS)) {
  test(`a text of ${name} is formatted`, () => {
    context.text = start + middle.repeat((MOST_CHARACTERS - 9) / middle.length) + end;
    assert.ok(vm.runInContext("format(text)", context, { timeout: MOST_MS }).length > 0);
  });
}
