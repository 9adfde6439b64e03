import assert from "node:assert/strict";
import { test } from "node:test";
import { changesOf, labelsOf } from "../../functions/mnemosyne/http/console/static/edit.js";
import { Client } from "../../functions/mnemosyne/http/console/static/mcp.js";
import {
  formatMetadata, mergeMetadata, parseMetadata,
} from "../../functions/mnemosyne/http/console/static/metadata.js";
import { recordOf } from "../../functions/mnemosyne/http/console/static/side.js";

for (const metadata of [{}, { a: { b: ["ü", null] } }]) {
  test(`metadata ${JSON.stringify(metadata)} are parsed as they were formatted`, () => {
    assert.deepEqual(parseMetadata(formatMetadata(metadata)), metadata);
  });
}
for (const text of ['{"id":1234567890123456789}', '{"a":[-9223372036854775808,18446744073709551615]}',
  '{"a":"1234567890123456789","b":0.1234567890123456,"\\"1234567890123456789":"\\\\"}']) {
  test(`metadata ${text} keep every digit when they are shown, edited and sent`, async () => {
    const sent = [];
    const request = async (_, { body }) => {
      sent.push(body);
      return new Response(`{"result":{"structuredContent":{"id":"1","tags":[],"metadata":${text}}}}`);
    };
    const client = new Client({ request });
    const memory = await client.call("get_memory");
    assert.equal(labelsOf(memory).metadata.replaceAll(/\n */gu, "").replaceAll(": ", ":"), text);
    const { Metadata: shown } = Object.fromEntries(recordOf({ ...memory, quality: 0.5, created_at: "" }));
    assert.equal(shown, text);
    const form = { ...labelsOf(memory), metadata: labelsOf(memory).metadata.replace("{", '{"new":1,') };
    await client.call("update_memory", changesOf(memory, form));
    assert.ok(sent[1].includes(`{"new":1,${text.slice(1)}`), sent[1]);
  });
}
const MERGED = [
  [{ a: 1 }, { a: 2 }, { a: 1, b: 1 }, { a: 2, b: 1 }],
  [{ a: 1 }, {}, { a: 2, b: [1] }, { b: [1] }],
  [{ a: { b: 1, c: 1 } }, { a: { b: 2, c: 1 } }, { a: { b: 1, c: 3, d: 4 } }, { a: { b: 2, c: 3, d: 4 } }],
  [{ a: { b: 1 } }, { a: { b: 2 } }, {}, { a: { b: 2 } }],
  [{ a: [1] }, { a: [1, 2] }, { a: [3] }, { a: [1, 2] }],
  [{}, JSON.parse('{"__proto__": {"a": 1}}'), { b: 1 }, JSON.parse('{"b": 1, "__proto__": {"a": 1}}')],
];
for (const [before, after, current, merged] of MERGED) {
  const [from, to, now] = [before, after, current].map((values) => JSON.stringify(values));
  test(`the change of metadata from ${from} to ${to} is merged into ${now}`, () => {
    assert.equal(JSON.stringify(mergeMetadata(before, after, current)), JSON.stringify(merged));
  });
}

for (const [text, message] of [
  ["[1]", /must be a JSON object/], ["null", /must be a JSON object/], ["{a: 1}", /metadata is not JSON/],
  ['{"ticket": "TW-318",\n "until": 2027-06-30}', /^Error: Line 2: a date needs quotes, as in "2027-06-30"\.$/],
]) {
  test(`metadata ${text} are refused with ${message}`, () => assert.throws(() => parseMetadata(text), message));
}
