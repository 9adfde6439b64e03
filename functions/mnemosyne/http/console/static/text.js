// Stored text in lists: plain words, marks of matched words, passages.

const HEADER = /^\s*(?:\[\[\[CHRONICLE_(?:START|END)\]\]\]|(?:TS|TITLE|TAGS):[^\n]*)\s*(?:\n|$)/;
const END_MARK = "[[[CHRONICLE_END]]]";
const MOST_HEADERS = 8;
const LEAD = 60; // characters of a passage before its first match
const MOST_PASSAGE = 400;
const MARKDOWN = /\*\*|__|`|(?:^|(?<=\n))[ \t]*#{1,6}[ \t]+/gu; // marks of Markdown that are left out of a passage

// Number of characters in the lines that a chronicle has before its text: a start mark, time, title and tags. The page
// shows these values elsewhere.
function headerLength(content) {
  let length = 0;
  for (let count = 0; count < MOST_HEADERS; count += 1) {
    const match = content.slice(length, length + 2000).match(HEADER);
    if (!match) break;
    length += match[0].length;
  }
  const body = length ? content.slice(length).match(/^\s*BODY:\s*/) : null;
  return length + (body?.[0].length ?? 0);
}

// The content of a chronicle without its marks and the lines before its text. Content without a text is returned whole.
export function bodyOf(content) {
  const body = content.slice(headerLength(content));
  const trimmed = body.trimEnd(); // a pattern with \s* before the mark takes quadratic time for a run of spaces
  const inner = trimmed.endsWith(END_MARK) ? trimmed.slice(0, -END_MARK.length).trimEnd() : body;
  return inner.trim() ? inner : content;
}

// Text of Markdown on one line: without marks of headings, lists, quotes and emphasis. Code keeps its backticks.
export const plain = (text) =>
  text
    .replace(/^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?|[-*+][ \t]+(?:\[[ x]\][ \t]+)?|```.*$)/gmu, "")
    .replace(/(\*\*|__)(?=\S)([^\n]{1,300}?\S)\1/gu, "$2")
    .replace(/\[([^[\]\n]{1,200})\]\((?:https?:|mailto:)(?:[^()\s]|\([^()\s]{0,500}\)){1,500}\)/gu, "$1")
    .replace(/\s+/gu, " ")
    .trim();

// Split a line at its `code`.
export function codeSegments(text) {
  return text.split(/(`[^`\n]{1,200}`)/u).filter(Boolean).map((part) => {
    const isCode = part.length > 2 && part.startsWith("`") && part.endsWith("`");
    return { text: isCode ? part.slice(1, -1) : part, isCode };
  });
}

// Convert ranges in Unicode code points to ranges in UTF-16 units, sorted and without overlaps.
export function unitRanges(text, ranges = []) {
  if (!ranges.length) return [];
  const offsets = [0];
  for (const point of text) offsets.push(offsets.at(-1) + point.length);
  const at = (point) => offsets[Math.min(point, offsets.length - 1)];
  const converted = [];
  for (const [start, end] of ranges.toSorted(([one], [other]) => one - other)) {
    const from = Math.max(at(start), converted.at(-1)?.[1] ?? 0);
    if (at(end) > from) converted.push([from, at(end)]);
  }
  return converted;
}

// Split the text from `start` to `end` into segments that are marked or not. `ranges` are the marked ranges. All
// positions are in UTF-16 units.
export function markSegments(text, ranges, start = 0, end = text.length) {
  const segments = [];
  const add = (from, until, isMark) => {
    const part = text.slice(Math.max(from, start), Math.min(until, end));
    if (part && until > start && from < end) segments.push({ text: part, isMark });
  };
  let place = start;
  for (const [from, until] of ranges) {
    add(place, from, false);
    add(from, until, true);
    place = Math.max(place, until);
  }
  add(place, end, false);
  return segments;
}

// A text without regard to case and normal form, as the server compares tags.
export const fold = (text) =>
  text.normalize("NFC").toLowerCase().replaceAll("i\u0307", "i").replaceAll("ß", "ss").replaceAll("ς", "σ")
    .normalize("NFC");

const LETTERS = new Intl.Segmenter(undefined, { granularity: "grapheme" });
const MOST_BEFORE = 1000; // maximum UTF-16 units that are read before a place, for example in a row of flag emoji

// The start of the letter (with its accents) or emoji that contains the index `place` of a text.
function wholePlace(text, place) {
  if (place <= 0 || place >= text.length) return place;
  let start = place;
  while (start > Math.max(0, place - MOST_BEFORE) && text.charCodeAt(start - 1) > 0x7f) start -= 1;
  start = Math.max(0, start - 1); // an ASCII character can begin an emoji: 1 and two more characters are a keycap
  return start + LETTERS.segment(text.slice(start, place + MOST_BEFORE)).containing(place - start).index;
}

// The first letters of a text: at most `most` UTF-16 units. A letter is not divided from its marks, and a character of
// two units is not cut in half, because half a character is shown as � and is refused in a request.
export const beginning = (text, most) => text.slice(0, wholePlace(text, most));

// The start of the word at `place`. If the word starts 40 or more characters earlier, the result is `place`.
function wordStart(text, place) {
  for (let start = place; start > Math.max(0, place - 40) && start < text.length; start -= 1) {
    if (/\s/u.test(text[start - 1])) return start;
  }
  return wholePlace(text, Math.max(0, Math.min(place, text.length)));
}

// The passage of a content that a result shows: from its start, or from a little before the first match.
export function passageOf(content, ranges = []) {
  const start = headerLength(content) < content.length ? headerLength(content) : 0;
  const first = ranges.find(([, until]) => until > start)?.[0] ?? start;
  const from = first - start > 2 * LEAD ? wordStart(content, first - LEAD) : start;
  const until = content.length - from > MOST_PASSAGE ? wordStart(content, from + MOST_PASSAGE) : content.length;
  const segments = markSegments(content, ranges, from, until);
  if (from > start) segments.unshift({ text: "… ", isMark: false });
  return segments.map(({ text, isMark }) => ({ text: text.replace(MARKDOWN, ""), isMark }));
}

// A text that is cut after a whole word, with at most `most` characters.
export function shorten(text, most) {
  if (text.length <= most) return text;
  const cut = text.slice(0, most + 1).replace(/\s+\S*$/u, "");
  return `${cut.length > most ? beginning(text, most) : cut}…`;
}

// The number of characters of a text, as the server counts them: in Unicode code points.
export const characters = (text) => text.length - (text.match(/[\uD800-\uDBFF][\uDC00-\uDFFF]/g)?.length ?? 0);

const NUMBER = new Intl.NumberFormat();
export const number = (value) => NUMBER.format(value);

// A count with its noun: "1 memory", "2,318 memories".
export const quantity = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;
export const memories = (count) => quantity(count, "memory", "memories");
