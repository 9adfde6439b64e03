import assert from "node:assert/strict";
import { test } from "node:test";
import { crc32, ending, zip } from "../../functions/mnemosyne/http/console/static/zip.js";

test("a zip file has the checksum and the size of each file", () => {
  assert.equal(crc32(new TextEncoder().encode("123456789")), 0xcbf43926);
  const bytes = Buffer.concat(zip([{ name: "ü.md", text: "tea" }, { name: "b.md", text: "" }]));
  assert.equal(bytes.readUInt32LE(0), 0x04034b50);
  assert.equal(bytes.readUInt32LE(14), crc32(new TextEncoder().encode("tea")));
  assert.equal(bytes.readUInt16LE(bytes.length - 12), 2);
  assert.equal(bytes.readUInt32LE(bytes.readUInt32LE(bytes.length - 6)), 0x02014b50);
});

test("a zip file of more than 65,535 files has their number in a record of ZIP64", () => {
  const bytes = Buffer.concat(ending(70_000, 5, 9));
  assert.equal(bytes.readUInt32LE(0), 0x06064b50);
  assert.equal(bytes.readBigUInt64LE(32), 70_000n);
  assert.equal(bytes.readBigUInt64LE(56 + 8), 14n); // the locator has the position of the ZIP64 record in the file
  assert.equal(bytes.readUInt16LE(bytes.length - 12), 0xffff);
  assert.equal(Buffer.concat(ending(65_534, 5, 9)).length, 22);
});
