// Metadata in the form: a JSON object, or an empty text.
import { formatJson, parseJson } from "./exact_json.js";

export const formatMetadata = (metadata) => (Object.keys(metadata).length ? formatJson(metadata, 1) : "");

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

// Apply the changes between `before` and `after` to `current`, key by key, also within objects. Other keys stay as they
// are in `current`, because they may have changed since the form was opened.
export function mergeMetadata(before, after, current) {
  const [old, next] = [before, after].map((values) => new Map(Object.entries(values)));
  const merged = new Map(Object.entries(current));
  for (const key of [...old.keys(), ...next.keys()]) {
    const values = [old.get(key), next.get(key), merged.get(key)];
    if (JSON.stringify(values[0]) === JSON.stringify(values[1])) continue;
    if (!next.has(key)) merged.delete(key);
    else merged.set(key, values.every(isObject) ? mergeMetadata(...values) : values[1]);
  }
  return Object.fromEntries(merged);
}

const DATE = /(?<!["\w-])(\d{4}-\d{2}-\d{2})(?!["\w-])/u;

// The inverse of formatMetadata. Throws if the text is not a JSON object.
export function parseMetadata(text) {
  let metadata;
  try {
    JSON.parse(text.trim() || "{}"); // its error has the position in the text
    metadata = parseJson(text.trim() || "{}");
  } catch (error) {
    throw new Error(reason(text, error), { cause: error });
  }
  if (!isObject(metadata)) {
    throw new Error('Metadata must be a JSON object, such as {"mood": "calm"}.');
  }
  return metadata;
}

// The reason why a text is not JSON, with the line if the browser gives the position.
function reason(text, { message }) {
  const dates = text.split("\n").map((part, index) => [index + 1, part.match(DATE)?.[1]]);
  const [line, date] = dates.find(([, found]) => found) ?? [];
  if (date) return `Line ${line}: a date needs quotes, as in "${date}".`;
  const position = message.match(/position (\d+)/u)?.[1];
  const place = position ? `Line ${text.slice(0, Number(position)).split("\n").length}: ` : "";
  return `${place}The metadata is not JSON: ${message}`;
}
