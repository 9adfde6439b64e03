// Split a pasted text into memories: the items of a list, or paragraphs.

const FENCE = /^\s*(?:```|~~~)/u;
// The mark of a list item. In Chinese and Japanese, no space follows it. A digit after 、 or ．means that the number is
// part of the text, as in 12．5％ or 3、4人, because the mark is left out of the memory.
const ITEM = /^(?:(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?|[・•]\s*|[\d０-９]{1,3}(?:[、．](?![\d０-９])|）)\s*)/u;
const HEADING = /^#{1,6}\s/u;
export const MOST_PARTS = 100; // maximum memories of a call of ingest_memories

const indentOf = (line) => line.match(/^\s*/u)[0];

// Whether a line after a blank line belongs to the last item of a list: it is indented further than the list.
const isMore = (line, [first] = [""]) =>
  ITEM.test(first.trimStart()) && indentOf(line).length > indentOf(first).length;

// Blocks between blank lines. A block of code is not divided, and neither is an item of a list.
function blocksOf(text) {
  const blocks = [];
  let block = [];
  let isCode = false;
  for (const line of text.split(/\r?\n/u)) {
    if (!block.length && line.trim() && isMore(line, blocks.at(-1))) {
      block = blocks.pop();
      block.push("");
    }
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

// The items of a list with their indented lines; null if the block is something else. The list itself may be indented.
function itemsOf(block) {
  const indent = indentOf(block[0]);
  const items = [];
  for (const indented of block) {
    const line = indented.startsWith(indent) ? indented.slice(indent.length) : indented;
    if (ITEM.test(line)) items.push([line.replace(ITEM, "")]);
    else if (items.length && (!line || /^\s/u.test(line))) items.at(-1).push(line);
    else return null;
  }
  return items.map((item) => item.join("\n").trim()).filter(Boolean);
}

// Split a text into `parts`, the texts of memories. `kind` is "list items" or "paragraphs". A list that a sentence
// introduces is one paragraph together with this sentence. A heading belongs to the block after it.
export function splitText(text) {
  const blocks = blocksOf(text);
  const lists = blocks.map(itemsOf);
  if (blocks.length && lists.every(Boolean)) return { kind: "list items", parts: lists.flat() };
  const parts = [];
  let heading = "";
  for (const lines of blocks) {
    const block = lines.join("\n").trimEnd();
    if (lines.length === 1 && HEADING.test(block)) heading += `${block}\n\n`;
    else {
      const isRest = itemsOf(lines) && /[:：]\s*$/u.test(parts.at(-1) ?? "");
      if (isRest && !heading) parts.push(`${parts.pop()}\n\n${block}`);
      else parts.push(heading + (parts.length ? block : block.trimStart()));
      heading = "";
    }
  }
  if (heading) parts.push(heading.trim());
  return { kind: "paragraphs", parts };
}

// Whether to ask the person if a text is one memory or several.
export const isSeveral = ({ parts }) => parts.length > 1 && parts.length <= MOST_PARTS;
