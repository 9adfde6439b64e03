// Metadata in the form: a JSON object, or an empty text.
import { formatJson, parseJson } from "./exact_json.js";

export const formatMetadata = (metadata) => (Object.keys(metadata).length ? formatJson(metadata, 1) : "");

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
  if (typeof metadata !== "object" || Array.isArray(metadata) || metadata === null) {
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
