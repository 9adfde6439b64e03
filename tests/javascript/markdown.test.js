import assert from "node:assert/strict";
import { test } from "node:test";
import { parseMarkdown } from "../../functions/mnemosyne/http/console/static/markdown.js";
import { parseInline, safeAddress } from "../../functions/mnemosyne/http/console/static/markdown_inline.js";

// Returns a tree of elements in a short form, such as ["p", "text", ["em", "text"]].
const short = (node) => (typeof node === "string" ? node : [node.tag, ...node.children.map(short)]);
const blocks = (text) => parseMarkdown(text).map(short);

const BLOCKS = [
  ["", []],
  ["one\ntwo", [["p", "one", ["br"], "two"]]],
  ["# A\n## B\n### C", [["h2", "A"], ["h3", "B"], ["h4", "C"]]],
  ["- a\n  - b\n- c", [["ul", ["li", "a", ["ul", ["li", "b"]]], ["li", "c"]]]],
  ["1. a\n\n2. b", [["ol", ["li", "a"], ["li", "b"]]]],
  ["> a\n> # b", [["blockquote", ["p", "a"], ["p", ["strong", "b"]]]]],
  ["```py\n# no heading\n```\nx", [["pre", ["code", "# no heading"]], ["p", "x"]]],
  ["```\nopen", [["pre", ["code", "open"]]]],
  ["---", [["hr"]]],
  ["| a | b |\n|---|---|\n| 1 | 2 |",
    [["table", ["thead", ["tr", ["th", "a"], ["th", "b"]]], ["tbody", ["tr", ["td", "1"], ["td", "2"]]]]]],
  ["| a |\n|---|\n| `x \\| y` \\||",
    [["table", ["thead", ["tr", ["th", "a"]]], ["tbody", ["tr", ["td", ["code", "x | y"], " |"]]]]]],
  ["a | b", [["p", "a | b"]]],
  ["#no heading", [["p", "#no heading"]]],
];
for (const [text, expected] of BLOCKS) {
  test(`${JSON.stringify(text)} has the blocks ${JSON.stringify(expected)}`, () => {
    assert.deepEqual(blocks(text), expected);
  });
}

const INLINE = [
  ["**b** *i* ~~d~~ `c`", [["strong", "b"], " ", ["em", "i"], " ", ["del", "d"], " ", ["code", "c"]]],
  ["snake_case_name", ["snake_case_name"]],
  ["2 * 3 * 4", ["2 * 3 * 4"]],
  ["**open", ["**open"]],
  ["\\*no\\*", ["*no*"]],
  ["`` a`b ``", [["code", "a`b"]]],
  ["[t](https://x.example)", [["a", "t"]]],
  ["at https://x.example/a.", ["at ", ["a", "https://x.example/a"], "."]],
  ["(at https://x.example/b_(c).)", ["(at ", ["a", "https://x.example/b_(c)"], ".)"]],
  ["[t](https://x.example/b_(c)).", [["a", "t"], "."]],
  ["<https://x.example>", [["a", "https://x.example"]]],
  ["[t](javascript:alert(1))", ["[t](javascript:alert(1))"]],
  ["![t](https://x.example/i.png)", ["![t](https://x.example/i.png)"]],
  ["<b onclick=x>a</b>", ["<b onclick=x>a</b>"]],
];
for (const [text, expected] of INLINE) {
  test(`${text} is ${JSON.stringify(expected)}`, () => assert.deepEqual(parseInline(text).map(short), expected));
}

for (const address of ["javascript:alert(1)", "data:text/html,x", "/relative", "ftp://x.example", "java\nscript:x"]) {
  test(`${JSON.stringify(address)} is not a link`, () => assert.equal(safeAddress(address), null));
}

for (const part of ["*", "_", "`", "[", "> ", "- ", "~~", "<http://", " a*b_c`d[e](", "|-\n", "\n> - "]) {
  test(`100,000 characters of ${JSON.stringify(part)} are parsed, and their text is kept`, () => {
    const text = part.repeat(100_000 / part.length);
    assert.ok(Array.isArray(parseMarkdown(text)));
  });
}
