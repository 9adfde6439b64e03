import assert from "node:assert/strict";
import { test } from "node:test";
import { choiceOf } from "../../functions/mnemosyne/http/console/static/filters.js";
import { optionsOf } from "../../functions/mnemosyne/http/console/static/tag_field.js";
import { formatTags, parseTags, tagAddress } from "../../functions/mnemosyne/http/console/static/tags.js";

const PARSED = [
  ["", []],
  [" , ,", []],
  ["  ada ,tea  ", ["ada", "tea"]],
  ['"red, green", amber', ["red, green", "amber"]],
  ['"say ""hi"""', ['say "hi"']],
  ['""', []],
  ["C++, résumé, 日本", ["C++", "résumé", "日本"]],
  ['5" nails', ['5" nails']],
];
for (const [text, tags] of PARSED) {
  test(`${JSON.stringify(text)} has the tags ${JSON.stringify(tags)}`, () => assert.deepEqual(parseTags(text), tags));
}

const TAGS = [[], ["tea"], ["red, green"], ['say "hi"', "amber"], ['"'], [","], ['",'], ["a", "b", "c"], ["<b>x</b>"]];
for (const tags of TAGS) {
  test(`${JSON.stringify(tags)} is parsed as it was formatted`, () => {
    assert.deepEqual(parseTags(formatTags(tags)), tags);
  });
}

for (const tag of ["tea", "red, green", 'say "hi"', "a&b=c#d", "50 %", "日本"]) {
  test(`the address of ${JSON.stringify(tag)} has one tag`, () => {
    const address = new URL(tagAddress(tag), "http://localhost");
    assert.deepEqual(parseTags(address.searchParams.get("tags")), [tag]);
  });
}

for (const [name, one, other, isSame] of [
  ["case", "Ärger", "ÄRGER", true],
  ["the normal form", "ärger", "a\u0308rger", true],
  ["the Turkish dotted I", "İŞ", "iş", true],
  ["ß and ss", "straße", "STRASSE", true],
  ["the final sigma", "οδος", "ΟΔΟΣ", true],
  ["hiragana and katakana", "ねこ", "ネコ", false],
  ["full-width letters", "ＡＢＣ", "ABC", false],
  ["accents", "résumé", "resume", false],
  ["vowel points", "مُشكلة", "مشكلة", false],
]) {
  test(`tags that differ in ${name} are ${isSame ? "one tag" : "two tags"}, as for the server`, () => {
    const options = optionsOf(one, { prefix: one, tags: [{ tag: other, memories: 1 }] }, []);
    assert.equal(options.length === 1 && options[0].tag === other, isSame);
    assert.equal(optionsOf(one, { prefix: one, tags: [{ tag: one, memories: 1 }] }, [other]).length === 0, isSame);
  });
}

const MANY = Array.from({ length: 16 }, (_, index) => ({ tag: `tea-${index}`, memories: 2 }));
for (const [name, suggestions] of [
  ["the server has not answered", { prefix: null, tags: [] }],
  ["the server has answered only an earlier text", { prefix: "te", tags: [{ tag: "teapot", memories: 9 }] }],
  ["the server may have more tags", { prefix: "tea", tags: MANY }],
]) {
  test(`a tag is not called new while ${name}`, () => {
    assert.equal(optionsOf("tea", suggestions, []).at(-1).tag, "tea");
    assert.equal(optionsOf("tea", suggestions, []).at(-1).isNew, false);
  });
}

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
