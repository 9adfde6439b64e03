// JSON with integers of up to 64 bits, such as ids of other systems in metadata. A number of JavaScript has only 53
// bits: after an edit of other metadata, a longer integer would be stored with other digits. Such an integer is
// therefore kept as a text: MARK and its digits.

const MARK = "\0"; // no stored text contains NUL
const MAY_BE_LONG = /(?<![\d.])\d{16}/u;
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/gsu; // a string or a number
const INTEGER = /^-?\d{16,}$/u;
const MARKED = /(?<!\\)"\\u0000(-?\d+)"/gu;

const mark = (token) =>
  (INTEGER.test(token) && !Number.isSafeInteger(Number(token)) ? JSON.stringify(MARK + token) : token);

// Parse JSON. Throws SyntaxError.
export const parseJson = (text) => JSON.parse(MAY_BE_LONG.test(text) ? text.replace(TOKEN, mark) : text);

// The inverse of parseJson. With `indent`, each value has its own line.
export const formatJson = (value, indent = 0) => JSON.stringify(value, null, indent).replace(MARKED, "$1");
