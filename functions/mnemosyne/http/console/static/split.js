// Split a pasted text into memories: the items of a list, or paragraphs.

const FENCE = /^\s*(?:```|~~~)/u;
const ITEM = /^(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?/u;
const HEADING = /^#{1,6}\s/u;
export const MOST_PARTS = 100; // maximum memories of a call of ingest_memories

// Blocks between blank lines. A block of code is not divided.
function blocksOf(text) {
  const blocks = [];
  let block = [];
  let isCode = false;
  for (const line of text.split(/\r?\n/u)) {
    if (FENCE.test(line)) isCode = !isCode;
    if (line.trim() || isCode) block.push(line);
    else if (block.length) {
      blocks.push(block);
      block = [];
    }
  }
  if (block.length) blocks.push(block);
  return blocks;
}

// The items of a list with their indented lines; null if the block is something else.
function itemsOf(lines) {
  const items = [];
  for (const line of lines) {
    if (ITEM.test(line)) items.push([line.replace(ITEM, "")]);
    else if (items.length && /^\s/u.test(line)) items.at(-1).push(line);
    else return null;
  }
  return items.map((item) => item.join("\n").trim()).filter(Boolean);
}

// Split a text into `parts`, the texts of memories. `kind` is "list items" or "paragraphs". A list that a sentence
// introduces is one paragraph together with this sentence. A heading belongs to the block after it.
export function splitText(text) {
  const blocks = blocksOf(text.trim());
  const lists = blocks.map(itemsOf);
  if (blocks.length && lists.every(Boolean)) return { kind: "list items", parts: lists.flat() };
  const parts = [];
  let heading = "";
  for (const lines of blocks) {
    const block = lines.join("\n").trimEnd();
    if (lines.length === 1 && HEADING.test(block)) heading += `${block}\n\n`;
    else {
      const isRest = itemsOf(lines) && /:\s*$/u.test(parts.at(-1) ?? "");
      if (isRest && !heading) parts.push(`${parts.pop()}\n\n${block}`);
      else parts.push(heading + block);
      heading = "";
    }
  }
  if (heading) parts.push(heading.trim());
  return { kind: "paragraphs", parts };
}

// Whether to ask the person if a text is one memory or several.
export const isSeveral = ({ parts }) => parts.length > 1 && parts.length <= MOST_PARTS;
