// Split a file into parts that are small enough for one request. A part consists of whole lines, or of whole chronicles
// (texts between a start mark and an end mark). Each part has the number of its first line.
const START = "[[[CHRONICLE_START]]]";
const END = "[[[CHRONICLE_END]]]";
const MOST_MEMORIES = 100;
const MOST_CHRONICLES = 50;
const CHARACTERS = 1_000_000; // a part ends after this number of characters
const MOST_VALUES = 20_000; // maximum JSON values in a request; for example, each number of a vector is a value
const MOST_CHARACTERS = 2_000_000; // maximum of a line, a chronicle or a note; a request may have a little more

const KNOWN = /\.(jsonl|ndjson|txt|text|chronicle|md|markdown|mdown|mkd)$/i;
const isNote = (name) => /\.(md|markdown|mdown|mkd)$/i.test(name);
const isGzip = (name) => /\.gz$/i.test(name);
const isText = (name) => /\.te?xt$/i.test(name);
const isChronicles = (name) => isText(name) || /\.chronicle$/i.test(name);
export const plainName = (name) => name.replace(/\.gz$/i, "");
export const isKnown = (name) => KNOWN.test(plainName(name));

// The reason why a readable file has no memories.
export const emptyReason = (name) =>
  (isChronicles(plainName(name)) ? `it has no chronicle; a chronicle begins with ${START}` : "it has no memories");

// The text of a file, piece by piece. Throws if the file is not UTF-8, or is an incomplete gzip file.
async function* texts(file) {
  const isPacked = isGzip(file.name);
  const bytes = isPacked ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.stream();
  const reader = bytes.pipeThrough(new TextDecoderStream("utf-8", { fatal: true })).getReader();
  for (;;) {
    const read = await reader.read().catch((error) => {
      if (error instanceof DOMException) throw error; // the file itself cannot be read
      throw new Error(isPacked ? "it is not a complete gzip file of UTF-8 text" : "it is not UTF-8: save it as UTF-8");
    });
    if (read.done) return;
    yield read.value;
  }
}

// Throw an error if a text is too long. The size of a gzip file does not limit its text, which may be a thousand times
// as large.
function bounded(text, name) {
  if (text.length > MOST_CHARACTERS) {
    throw new Error(`${name} must have at most ${MOST_CHARACTERS.toLocaleString()} characters`);
  }
  return text;
}

// The maximum number of JSON values that a line can have. Each value comes after a comma or an opening bracket, so
// count these characters.
const valuesOf = (line) => line.match(/[,[{]/gu)?.length ?? 0;

async function* lines(file) {
  let rest = "";
  for await (const text of texts(file)) {
    const ended = (rest + text).split("\n");
    rest = ended.pop();
    bounded(rest, "a line");
    for (const line of ended) yield `${line}\n`;
  }
  if (rest) yield rest;
}

async function noteOf(file) {
  let text = "";
  for await (const piece of texts(file)) text = bounded(text + piece, "a note");
  return { text, firstLine: 1, memories: 1 };
}

// Yield { text, firstLine, memories } of each part of a file.
export async function* splitFile(file) {
  const name = plainName(file.name);
  if (!KNOWN.test(name)) {
    throw new Error("its name must end in .jsonl, .ndjson, .txt, .chronicle or .md, or in one of these and .gz");
  }
  if (isNote(name)) yield await noteOf(file);
  else yield* splitLines(file, name);
}

async function* splitLines(file, name) {
  const hasChronicles = isChronicles(name);
  const most = hasChronicles ? MOST_CHRONICLES : MOST_MEMORIES;
  const emptyPart = (firstLine) => ({ text: "", firstLine, memories: 0, values: 0 });
  let part = emptyPart(1);
  let number = 0;
  let isOpen = false; // whether the current line is within a chronicle
  for await (const line of lines(file)) {
    const more = hasChronicles ? 0 : valuesOf(line);
    const isFull = part.text.length + line.length > MOST_CHARACTERS || part.values + more > MOST_VALUES;
    if (!isOpen && part.text && isFull) {
      yield part;
      part = emptyPart(number + 1);
    }
    number += 1;
    part.values += more;
    part.text = isOpen ? bounded(part.text + line, "a chronicle") : part.text + line;
    if (hasChronicles) {
      part.memories += line.split(START).length - 1;
      if (line.includes(START) || line.includes(END)) isOpen = line.lastIndexOf(START) > line.lastIndexOf(END);
    } else part.memories += line.trim() ? 1 : 0;
    if (!isOpen && (part.memories >= most || part.text.length >= CHARACTERS)) {
      yield part;
      part = emptyPart(number + 1);
    }
  }
  // A text file without the marks of a chronicle is imported as one memory.
  const isPlainText = part.text.trim() && part.firstLine === 1;
  if (part.memories || isPlainText) yield { ...part, memories: part.memories || (isText(name) ? 1 : 0) };
}
