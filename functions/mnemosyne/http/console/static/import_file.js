// Import a file: every memory in it handed over, followed to its outcome, and told of; what fails with its reason.
import { callPatiently, outcomes } from "./mcp.js";
import { parts, plainName } from "./parts_of_file.js";

const UNDER_WAY = 4;

// How many memories the file has; throws where it cannot be read, before anything is sent.
export async function count(file) {
  let memories = 0;
  for await (const part of parts(file)) memories += part.memories;
  return memories;
}

// Import it; `told` is called with each { line, state, memory_id, error } as it is known. Once `signal` says stop nothing
// more is handed over, and what was is followed to its outcome.
export async function importFile(file, told, signal) {
  const stored = new Map();
  const later = [];
  const underWay = new Set();
  for await (const part of parts(file)) {
    if (signal.aborted) break;
    const one = importPart(file, part, told, stored, later).finally(() => underWay.delete(one));
    underWay.add(one);
    if (underWay.size >= UNDER_WAY) await Promise.race(underWay);
  }
  await Promise.all(underWay);
  for (const item of later) await sayLater(item, stored, told);
}

async function importPart(file, part, told, stored, later) {
  const args = { name: plainName(file.name), text: part.text, first_line: part.firstLine, modified: new Date(file.lastModified).toISOString() };
  let items;
  try {
    ({ items } = await callPatiently("import_memories", args));
  } catch (error) {
    const last = part.firstLine + part.text.split("\n").length - 2;
    told({ line: part.firstLine, memories: part.memories, state: "failed", error: `lines ${part.firstLine} to ${Math.max(last, part.firstLine)}: ${error.message}` });
    return;
  }
  for (const { line, error } of items) if (error) told({ line, state: "failed", error });
  const sent = items.filter((item) => item.request_id);
  if (!sent.length) return;
  try {
    await follow(sent, told, stored, later);
  } catch (error) {
    const why = `it was handed over, and what became of it cannot be asked: ${error.message}`;
    for (const item of sent) if (!item.told) told({ line: item.line, state: "unknown", error: why });
  }
}

async function follow(sent, told, stored, later) {
  await outcomes(sent.map((item) => item.request_id), (requests) => requests.forEach(({ state, memory_id, error }, place) => {
    const item = sent[place];
    if (item.told || state === "queued" || state === "unknown") return;
    item.told = true;
    told({ line: item.line, state, memory_id, error, left_out: item.left_out });
    if (!memory_id) return;
    stored.set(item.content_hash, { id: memory_id, isNew: state === "stored" });
    if (item.superseded_by_hash || item.tags) later.push(item);
  }));
}

// What an export says of a memory and an ingest cannot: all its tags, and what replaces it.
async function sayLater(item, stored, told) {
  const { id, isNew } = stored.get(item.content_hash);
  const successor = stored.get(item.superseded_by_hash);
  const changes = item.tags && isNew ? [{ tags: item.tags.length ? item.tags : ["none"] }] : [];
  if (successor) changes.push({ superseded_by: successor.id });
  const problem = (error) => told({ line: item.line, memories: 0, state: "incomplete", error });
  if (item.superseded_by_hash && !successor) problem("stored, but what supersedes it is not in this file: update_memory says so");
  for (const change of changes) {
    await callPatiently("update_memory", { id, ...change }).catch((error) => problem(`stored, but not all of it: ${error.message}`));
  }
}
