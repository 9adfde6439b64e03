// Parse Markdown into a tree of { tag, children, ... }, and render the tree as elements. Stored text may be hostile, so
// it is never used as HTML.
import { h } from "./vendor/htm-preact.js";
import { parseInline } from "./markdown_inline.js";

export const MOST_CHARACTERS = 100_000; // longer texts are shown as source only
const MOST_DEPTH = 8;
// In these patterns, a look-ahead after a repeated character prevents attempts with fewer repetitions. Otherwise the
// time for a line that does not match would grow with the square of its length, and the tab would not respond. Any text
// can have such a line, because "." does not match the line ends \r and U+2028.
const FENCE = /^ {0,3}(`{3,}|~{3,}(?!~))[ \t]*(?![ \t])([\w+#.-]{0,40})[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(?![ \t])(.*)$/;
const CLOSING = /[ \t]#+$/; // marks at the end of a heading
const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const ITEM = /^( *)(?:([-*+])|(\d{1,9})[.)])(?:[ \t]+(?![ \t])(.*)|)$/;
const QUOTE = /^ {0,3}>[ ]?(.*)$/;
const DIVIDER = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*(?:\|[ \t]*)?$/;
const MOST_COLUMNS = 30;

const isBlank = (line) => !line.trim();
const isBlockStart = (line) =>
  FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line) || ITEM.test(line);

// Parse Markdown into blocks. The title of the page is the h1, so the highest heading of the text becomes an h2, and
// the others follow in order.
export function parseMarkdown(text) {
  const blocks = parseBlocks(text.replaceAll("\r\n", "\n").replaceAll("\t", "    ").split("\n"));
  const headings = blocks.filter(({ level }) => level);
  const least = Math.min(...headings.map(({ level }) => level));
  for (const heading of headings) heading.tag = `h${Math.min(heading.level - least + 2, 6)}`;
  return blocks;
}

function parseBlocks(lines, depth = 0) {
  const blocks = [];
  let index = 0;
  while (index < lines.length) {
    if (isBlank(lines[index])) {
      index += 1;
      continue;
    }
    const { block, next } = parseBlock(lines, index, depth);
    blocks.push(block);
    index = next;
  }
  return blocks;
}

function parseBlock(lines, index, depth) {
  const line = lines[index];
  const fence = line.match(FENCE);
  if (fence) return parseFence(lines, index, fence);
  const heading = line.match(HEADING);
  if (heading) {
    const level = heading[1].length;
    const text = heading[2].trimEnd().replace(CLOSING, "").trimEnd();
    // A heading in a quote or a list becomes a bold line. As a heading, it could leave a gap between heading levels.
    const block = depth ? { tag: "p", children: [{ tag: "strong", children: parseInline(text) }] }
      : { tag: "h2", level, children: parseInline(text) };
    return { block, next: index + 1 };
  }
  if (RULE.test(line)) return { block: { tag: "hr", children: [] }, next: index + 1 };
  if (depth < MOST_DEPTH && QUOTE.test(line)) return parseQuote(lines, index, depth);
  if (depth < MOST_DEPTH && ITEM.test(line)) return parseList(lines, index, depth);
  if (line.includes("|") && DIVIDER.test(lines[index + 1] ?? "")) return parseTable(lines, index);
  return parseParagraph(lines, index);
}

function parseFence(lines, index, [, mark, language]) {
  const isEnd = (line) => line.trim().startsWith(mark) && !line.trim().replaceAll(mark[0], "");
  let next = index + 1;
  while (next < lines.length && !isEnd(lines[next])) next += 1;
  const code = lines.slice(index + 1, next).join("\n");
  return { block: { tag: "pre", language, children: [{ tag: "code", children: [code] }] }, next: next + 1 };
}

function parseQuote(lines, index, depth) {
  const inner = [];
  let next = index;
  while (next < lines.length && !isBlank(lines[next])) {
    const quoted = lines[next].match(QUOTE);
    if (!quoted && isBlockStart(lines[next])) break;
    inner.push(quoted ? quoted[1] : lines[next]);
    next += 1;
  }
  return { block: { tag: "blockquote", children: parseBlocks(inner, depth + 1) }, next };
}

// Whether a line begins another item of the list whose first item is `first`.
function isSibling(line, first) {
  const item = line.match(ITEM);
  return Boolean(item && Boolean(item[3]) === Boolean(first[3]) && item[1].length < first[1].length + 2);
}

function parseList(lines, index, depth) {
  const first = lines[index].match(ITEM);
  const items = [];
  let next = index;
  while (next < lines.length && isSibling(lines[next], first)) {
    const item = lines[next].match(ITEM);
    const inner = [item[4] ?? ""];
    const indent = item[1].length + 2;
    next += 1;
    while (next < lines.length) {
      const line = lines[next];
      const isIndented = line.startsWith(" ".repeat(indent));
      if (isBlank(line) && !lines[next + 1]?.startsWith(" ".repeat(indent))) break;
      if (!isBlank(line) && !isIndented && isBlockStart(line)) break;
      inner.push(isIndented ? line.slice(indent) : line.trimStart());
      next += 1;
    }
    items.push(itemOf(parseBlocks(dedent(inner), depth + 1)));
    while (next < lines.length && isBlank(lines[next]) && isSibling(lines[next + 1] ?? "", first)) next += 1;
  }
  const start = first[3] ? Number(first[3]) : 1;
  return { block: { tag: first[3] ? "ol" : "ul", ...(start !== 1 && { start }), children: items }, next };
}

// Remove up to two spaces of indentation that all further lines of a list item share. The caller has already removed
// two spaces, but the lines below a number such as "10." are indented further.
function dedent([first, ...rest]) {
  const indents = rest.filter((line) => !isBlank(line)).map((line) => line.match(/^ */)[0].length);
  const least = Math.min(...indents, 2);
  return [first, ...rest.map((line) => (indents.length ? line.slice(Math.min(least, line.length)) : line))];
}

// If an item begins with a paragraph, put the text of this paragraph directly into the item, without an element `p`.
function itemOf(blocks) {
  const [first, ...rest] = blocks;
  return { tag: "li", children: first?.tag === "p" ? [...first.children, ...rest] : blocks };
}

const cellsOf = (line) =>
  line.trim().replace(/^\||(?<!\\)\|$/gu, "").split(/(?<!\\)\|/u).slice(0, MOST_COLUMNS)
    .map((cell) => cell.replaceAll("\\|", "|"));

function parseTable(lines, index) {
  const row = (line, tag) =>
    ({ tag: "tr", children: cellsOf(line).map((cell) => ({ tag, children: parseInline(cell.trim()) })) });
  let next = index + 2;
  while (next < lines.length && lines[next].includes("|") && !isBlank(lines[next])) next += 1;
  const head = { tag: "thead", children: [row(lines[index], "th")] };
  const body = { tag: "tbody", children: lines.slice(index + 2, next).map((line) => row(line, "td")) };
  return { block: { tag: "table", children: [head, body] }, next };
}

function parseParagraph(lines, index) {
  let next = index + 1;
  while (next < lines.length && !isBlank(lines[next]) && !isBlockStart(lines[next])) next += 1;
  const text = lines.slice(index, next).map((line) => line.trim()).join("\n");
  return { block: { tag: "p", children: parseInline(text) }, next };
}

// Render blocks as elements. Each block has its own text direction, because a text may mix languages such as English
// and Arabic.
export const renderBlocks = (blocks) => blocks.map((block, key) => render(block, key, { dir: "auto" }));

function render(node, key, rest = {}) {
  if (typeof node === "string") return node;
  const { tag, href, start, language, children } = node;
  const inner = children.map((child, index) => render(child, index));
  if (tag === "a") {
    return h("a", { key, href, title: href, rel: "noreferrer noopener", target: "_blank" }, ...inner);
  }
  if (tag === "pre") {
    const name = language ? `Code, ${language}` : "Code";
    return h("pre", { key, tabIndex: 0, role: "group", "aria-label": name, ...rest }, ...inner);
  }
  return h(tag, { key, ...(start && { start }), ...rest }, ...inner);
}
