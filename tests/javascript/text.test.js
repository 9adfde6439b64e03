import assert from "node:assert/strict";
import { test } from "node:test";
import {
  bodyOf, characters, codeSegments, quantity, markSegments, memories, passageOf, plain, shorten, unitRanges,
} from "../../functions/mnemosyne/http/console/static/text.js";

const BODIES = [
  ["Plain.", "Plain."],
  ["TITLE: A\nB", "B"],
  ["[[[CHRONICLE_START]]]\nTS: 2026-05-20\nTITLE: A\nTAGS: b\nBODY: C\n[[[CHRONICLE_END]]]", "C"],
  ["TITLE: only a title", "TITLE: only a title"],
  ["A TITLE: B", "A TITLE: B"],
];
for (const [content, body] of BODIES) {
  test(`the body of ${JSON.stringify(content)} is ${JSON.stringify(body)}`, () => assert.equal(bodyOf(content), body));
}

const PLAIN = [
  ["# A heading\n- one", "A heading one"],
  ["**bold** and _it_", "bold and _it_"],
  ["> quoted\n\ntext", "quoted text"],
  ["see [notes](https://x.example)", "see notes"],
  ["see [notes](https://x.example/b_(c)).", "see notes."],
  ["[bad](javascript:alert(1))", "[bad](javascript:alert(1))"],
  ["use `a  b`", "use `a b`"],
  ["1 * 2 ** 3", "1 * 2 ** 3"],
  ["C# and #tag", "C# and #tag"],
];
for (const [text, expected] of PLAIN) {
  test(`${JSON.stringify(text)} is ${JSON.stringify(expected)} on one line`, () => assert.equal(plain(text), expected));
}

test("code and text in a line are separate segments", () => {
  assert.deepEqual(codeSegments("set `A=1`, then `go"), [
    { text: "set ", isCode: false }, { text: "A=1", isCode: true }, { text: ", then `go", isCode: false },
  ]);
});

test("characters are counted in code points", () => {
  assert.equal(characters("a😀𠮷e\u0301"), 5);
  assert.equal(characters(""), 0);
});

test("ranges in code points are converted, sorted and freed of overlaps", () => {
  assert.deepEqual(unitRanges("😀 tea", [[2, 5]]), [[3, 6]]);
  assert.deepEqual(unitRanges("abcdef", [[3, 5], [0, 4], [9, 12]]), [[0, 4], [4, 5]]);
  assert.deepEqual(unitRanges("abc"), []);
});

test("marked ranges are cut to the part that is shown", () => {
  const segments = markSegments("one two three", [[0, 3], [8, 13]], 1, 11);
  assert.deepEqual(segments.map(({ text, isMark }) => (isMark ? `<${text}>` : text)), ["<ne>", " two ", "<thr>"]);
});

test("a passage begins a little before the first match, at a word", () => {
  const content = `TITLE: T\n${"word ".repeat(200)}needle ${"tail ".repeat(200)}`;
  const start = content.indexOf("needle");
  const text = passageOf(content, [[start, start + 6]]).map(({ text: part }) => part).join("");
  assert.match(text, /^… word/);
  assert.ok(text.indexOf("needle") < 80 && text.length < 450);
  assert.ok(passageOf(content, [[start, start + 6]]).some(({ text: part, isMark }) => isMark && part === "needle"));
});

test("a passage without a match begins with the body, without marks of Markdown", () => {
  assert.deepEqual(passageOf("TITLE: T\n## A **b** `c`"), [{ text: "A b c", isMark: false }]);
});

for (const [text, most, expected] of [
  ["short", 10, "short"], ["one two three", 8, "one two…"], ["abcdefghij", 4, "abcd…"],
]) {
  test(`${text} in ${most} characters is ${expected}`, () => assert.equal(shorten(text, most), expected));
}

const LETTERS = ["น้ำ", "दी", "ộ".normalize("NFD"), "한".normalize("NFD"), "👩🏽‍💻", "🇩🇪", "1️⃣", "😀"];
for (const letter of LETTERS) {
  test(`a text of ${letter} is cut between letters`, () => {
    for (let before = 0; before < letter.length; before += 1) {
      const lead = "x".repeat(before);
      const text = shorten(lead + letter.repeat(200), 100).replace("…", "");
      assert.ok(text.length > 100 - letter.length && text.length <= 100);
      assert.equal(text.slice(before), letter.repeat((text.length - before) / letter.length));
      const content = `${lead}${letter.repeat(200)}needle${letter.repeat(200)}`;
      const start = content.indexOf("needle");
      const passage = passageOf(content, [[start, start + 6]]).map(({ text: part }) => part).join("");
      assert.equal(passage.replace(/^(… )?x*|needle/gu, "").replaceAll(letter, ""), "");
    }
  });
}

test("counts agree with their nouns", () => {
  assert.deepEqual([memories(1), memories(2318), quantity(1, "tag"), quantity(0, "tag")],
    ["1 memory", "2,318 memories", "1 tag", "0 tags"]);
});
