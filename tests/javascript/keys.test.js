import assert from "node:assert/strict";
import { test } from "node:test";
import { applies, keyName } from "../../functions/mnemosyne/http/console/static/keys.js";
import { nextPause, poll } from "../../functions/mnemosyne/http/console/static/poll.js";
import { themeAfter } from "../../functions/mnemosyne/http/console/static/preferences.js";
import { idsBetween } from "../../functions/mnemosyne/http/console/static/selection.js";

const NAMES = [
  [{ key: "J" }, "j"], [{ key: "X", shiftKey: true }, "Shift+x"], [{ key: "?", shiftKey: true }, "?"],
  [{ key: "Enter", metaKey: true }, "Ctrl+Enter"], [{ key: "Delete" }, "Delete"], [{ key: "a", altKey: true }, "Alt+a"],
  [{ key: "л", code: "KeyK", ctrlKey: true }, "Ctrl+k"], [{ key: "Ч", code: "KeyX", shiftKey: true }, "Shift+x"],
  [{ key: "ح", code: "KeyP" }, "p"], [{ key: "a", code: "KeyQ" }, "a"], [{ key: "ö", code: "Semicolon" }, "ö"],
];
for (const [event, name] of NAMES) {
  test(`the keys ${JSON.stringify(event)} are ${name}`, () => assert.equal(keyName(event), name));
}

const free = { isTyping: false, isInDialog: false, singleKeys: true };
const APPLIES = [
  ["j", {}, true], ["j", { isTyping: true }, false], ["j", { singleKeys: false }, false],
  ["Shift+x", { singleKeys: false }, false], ["Ctrl+Enter", { isTyping: true }, true],
  ["Escape", { singleKeys: false }, true], ["Delete", { isTyping: true }, false],
  ["Ctrl+k", { isInDialog: true }, false],
];
for (const [name, where, expected] of APPLIES) {
  test(`${name} ${expected ? "works" : "does nothing"} with ${JSON.stringify(where)}`, () => {
    assert.equal(applies(name, { ...free, ...where }), expected);
  });
}

test("a range of rows is the same in both directions", () => {
  assert.deepEqual(idsBetween(["a", "b", "c", "d"], "b", "d"), ["b", "c", "d"]);
  assert.deepEqual(idsBetween(["a", "b", "c", "d"], "d", "b"), ["b", "c", "d"]);
  assert.deepEqual(idsBetween(["a", "b"], "gone", "b"), ["b"]);
});

test("pauses grow while nothing changes, and shrink after a change", () => {
  assert.equal(nextPause(5), 7.5);
  assert.equal(nextPause(59), 60);
  assert.equal(nextPause(40, { hasChanged: true }), 5);
  assert.equal(nextPause(5, { seconds: 30 }), 30);
});

test("appearances follow each other in a circle", () => {
  assert.deepEqual(["", "light", "dark"].map(themeAfter), ["light", "dark", ""]);
});

test("a page that is shown again while its call runs makes no second call", async () => {
  globalThis.document = Object.assign(new EventTarget(), { hidden: false });
  const show = () => document.dispatchEvent(new Event("visibilitychange"));
  let calls = 0;
  const stop = poll(() => {
    calls += 1;
    return new Promise(() => {});
  });
  for (let times = 0; times < 3; times += 1) show();
  stop();
  assert.equal(calls, 1);
});
