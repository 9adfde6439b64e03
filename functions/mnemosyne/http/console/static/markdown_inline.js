// Parse inline Markdown (code, emphasis, links) into a tree of { tag, children, ... }. Text is a string. HTML and
// images stay text.

const MOST_DEPTH = 6;
const ESCAPE = /\\([\\`*_{}[\]()#+\-.!~>|])/y;
const LINK = /\[([^[\]\n]{1,500})\]\(\s*<?((?:[^\s()<>]|\([^\s()<>]{0,500}\)){1,2000})>?(?:\s+"[^"\n]{0,300}")?\s*\)/y;
const ADDRESS = /<?(?:https?:\/\/|mailto:)[^\s<>"'`]{1,2000}>?/y;
const SPECIAL = /[\\`*_~[<hm!\n]/g;
const MARKS = [["**", "strong"], ["__", "strong"], ["~~", "del"], ["*", "em"], ["_", "em"]];
const SCHEMES = ["http:", "https:", "mailto:"];

// Return the address of a link, or null if the address is not allowed.
export function safeAddress(address) {
  try {
    const url = new URL(address);
    return SCHEMES.includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

const matchAt = (pattern, text, place) => {
  pattern.lastIndex = place;
  return pattern.exec(text);
};

// Remove punctuation from the end of an address, for example the full stop of the sentence. A closing parenthesis stays
// if the address also has the opening one, as in /wiki/Oolong_(tea).
function withoutPunctuation(text) {
  let spare = text.split(")").length - text.split("(").length;
  let end = text.length;
  for (; end > 0; end -= 1) {
    if (text[end - 1] === ")" && spare > 0) spare -= 1;
    else if (!".,;:!?]".includes(text[end - 1])) break;
  }
  return text.slice(0, end);
}

const isWordCharacter = (character) => /[\p{L}\p{N}]/u.test(character ?? "");

// Parse a paragraph. If the search for a closing mark fails, it is not repeated for this kind of mark, so the time
// stays linear.
export function parseInline(text, depth = 0) {
  const nodes = [];
  const missing = new Set(); // marks that are not closed in the rest of the text
  let plain = "";
  let place = 0;
  const flush = () => {
    if (plain) nodes.push(plain);
    plain = "";
  };
  while (place < text.length) {
    SPECIAL.lastIndex = place;
    const next = SPECIAL.exec(text)?.index ?? text.length;
    plain += text.slice(place, next);
    if (next === text.length) break;
    // Read the character before `next` from `text`, not from `plain`: reading the end of `plain` would copy it each
    // time.
    const found = parseAt(text, next, missing, depth, plain && text[next - 1]);
    if (!found) {
      plain += text[next];
      place = next + 1;
    } else {
      place = found.end;
      if (typeof found.node === "string") plain += found.node;
      else {
        flush();
        nodes.push(found.node);
      }
    }
  }
  flush();
  return nodes;
}

function parseAt(text, place, missing, depth, before) {
  switch (text[place]) {
    case "\n": return { node: { tag: "br", children: [] }, end: place + 1 };
    case "\\": {
      const escape = matchAt(ESCAPE, text, place);
      return escape && { node: escape[1], end: place + 2 };
    }
    case "`": return parseCode(text, place, missing);
    case "[": return parseLink(text, place, depth);
    case "!": return parseImage(text, place);
    case "<": case "h": case "m": return isWordCharacter(before) ? null : parseAddress(text, place);
    default: return parseEmphasis(text, place, missing, depth, before);
  }
}

function parseCode(text, place, missing) {
  let length = 1;
  while (text[place + length] === "`") length += 1;
  const ticks = "`".repeat(length);
  const end = missing.has(ticks) ? -1 : closingTicks(text, place + length, ticks);
  if (end < 0) {
    missing.add(ticks);
    return { node: ticks, end: place + length };
  }
  const code = text.slice(place + length, end).replaceAll("\n", " ");
  return { node: { tag: "code", children: [/^ .* $/u.test(code) ? code.slice(1, -1) : code] }, end: end + length };
}

function closingTicks(text, from, ticks) {
  for (let end = text.indexOf(ticks, from); end >= 0; end = text.indexOf(ticks, end)) {
    let length = ticks.length;
    while (text[end + length] === "`") length += 1;
    if (length === ticks.length) return end;
    end += length;
  }
  return -1;
}

function parseLink(text, place, depth) {
  const link = matchAt(LINK, text, place);
  const href = link && safeAddress(link[2]);
  if (!href) return null;
  const children = depth < MOST_DEPTH ? parseInline(link[1], MOST_DEPTH) : [link[1]];
  return { node: { tag: "a", href, children }, end: place + link[0].length };
}

// An image stays text, and its address is not a link.
function parseImage(text, place) {
  const image = text[place + 1] === "[" && matchAt(LINK, text, place + 1);
  return image ? { node: `!${image[0]}`, end: place + 1 + image[0].length } : null;
}

function parseAddress(text, place) {
  const found = matchAt(ADDRESS, text, place);
  if (!found) return null;
  const address = withoutPunctuation(found[0].replace(/^<|>$/gu, ""));
  const href = safeAddress(address);
  if (!href) return null;
  const isInBrackets = found[0].startsWith("<") && found[0].endsWith(">");
  if (found[0].startsWith("<") && !isInBrackets) return null;
  return { node: { tag: "a", href, children: [address] }, end: place + (isInBrackets ? found[0] : address).length };
}

function parseEmphasis(text, place, missing, depth, before) {
  if (depth >= MOST_DEPTH) return null;
  const [mark, tag] = MARKS.find(([candidate]) => text.startsWith(candidate, place)) ?? [];
  const start = place + (mark?.length ?? 0);
  if (!mark || missing.has(mark) || /\s/u.test(text[start] ?? " ")) return null;
  if (mark.includes("_") && isWordCharacter(before)) return null;
  const end = closingMark(text, start, mark);
  if (end < 0) {
    missing.add(mark);
    return { node: mark, end: start };
  }
  return { node: { tag, children: parseInline(text.slice(start, end), depth + 1) }, end: end + mark.length };
}

function closingMark(text, from, mark) {
  for (let end = text.indexOf(mark, from + 1); end >= 0; end = text.indexOf(mark, end + 1)) {
    const isPart = mark.length === 1 && (text[end + 1] === mark || text[end - 1] === mark);
    const isInWord = mark.includes("_") && isWordCharacter(text[end + mark.length]);
    if (!isPart && !isInWord && !/\s/u.test(text[end - 1]) && text[end - 1] !== "\\") return end;
  }
  return -1;
}
