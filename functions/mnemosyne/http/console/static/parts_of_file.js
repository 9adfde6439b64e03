// A file in parts that one request takes: whole lines or chronicles, up to a hundred, each with where it begins.
const START = "[[[CHRONICLE_START]]]";
const END = "[[[CHRONICLE_END]]]";
const MEMORIES = 100;
const CHARACTERS = 1_000_000;
const LINE_CHARACTERS = 2_000_000; // what a request takes is a little more

const KNOWN = /\.(jsonl|ndjson|txt|text|chronicle|md|markdown|mdown|mkd)$/i;
const isNote = (name) => /\.(md|markdown|mdown|mkd)$/i.test(name);
const isPacked = (name) => /\.gz$/i.test(name);
const isChronicles = (name) => /\.(txt|text|chronicle)$/i.test(name);
export const plainName = (name) => name.replace(/\.gz$/i, "");

// Why a file that can be read has no memory.
export const emptiness = (name) => (isChronicles(plainName(name)) ? `it holds no chronicle: each begins with ${START}` : "it holds no memory");

// The file's text as it comes; throws where it is no UTF-8, or no whole gzip file.
async function* texts(file) {
  const bytes = isPacked(file.name) ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.stream();
  const reader = bytes.pipeThrough(new TextDecoderStream("utf-8", { fatal: true })).getReader();
  for (;;) {
    const read = await reader.read().catch((error) => {
      if (!(error instanceof TypeError)) throw error;
      throw new Error(isPacked(file.name) ? "it is no whole gzip file of UTF-8 text" : "it is not UTF-8: save it as UTF-8");
    });
    if (read.done) return;
    yield read.value;
  }
}

// A text that a request still takes: what is packed may be a thousand times as large as its file.
function bounded(text, what) {
  if (text.length > LINE_CHARACTERS) throw new Error(`${what} must have at most ${LINE_CHARACTERS.toLocaleString()} characters`);
  return text;
}

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

// Yield { text, firstLine, memories }.
export async function* parts(file) {
  const name = plainName(file.name);
  if (!KNOWN.test(name)) throw new Error("its name must end in .jsonl, .ndjson, .txt, .chronicle or .md, or .gz after that");
  if (isNote(name)) {
    let text = "";
    for await (const piece of texts(file)) text = bounded(text + piece, "a note");
    yield { text, firstLine: 1, memories: 1 };
    return;
  }
  const isChronicle = isChronicles(name);
  let part = { text: "", firstLine: 1, memories: 0 };
  let number = 0;
  let isOpen = false;
  for await (const line of lines(file)) {
    if (!isOpen && part.text && part.text.length + line.length > LINE_CHARACTERS) {
      yield part;
      part = { text: "", firstLine: number + 1, memories: 0 };
    }
    number += 1;
    part.text = isOpen ? bounded(part.text + line, "a chronicle") : part.text + line;
    if (isChronicle) {
      part.memories += line.split(START).length - 1;
      if (line.includes(START) || line.includes(END)) isOpen = line.lastIndexOf(START) > line.lastIndexOf(END);
    } else part.memories += line.trim() ? 1 : 0;
    if (!isOpen && (part.memories >= (isChronicle ? MEMORIES / 2 : MEMORIES) || part.text.length >= CHARACTERS)) {
      yield part;
      part = { text: "", firstLine: number + 1, memories: 0 };
    }
  }
  // Text without a chronicle is one note.
  if (part.memories || (part.text.trim() && part.firstLine === 1)) yield { ...part, memories: part.memories || (/\.te?xt$/i.test(name) ? 1 : 0) };
}
