// Import a file: every memory in it handed over, followed to its outcome, and told of; what fails with its reason.
import { isPassing, outcomes, patiently } from "./mcp.js";
import { parts, plainName } from "./parts_of_file.js";

const UNDER_WAY = 4;

// How many memories the file has; throws where it cannot be read, before anything is sent.
export async function count(file) {
  let memories = 0;
  for await (const part of parts(file)) memories += part.memories;
  return memories;
}

// An import of who began it, that can be run again after it stopped: it goes on with the parts that are not done. `told` is called with each
// { line, state, memory_id, error } as it is known, `waits` as by `patiently`.
export class Import {
  constructor(file, told, waits) {
    Object.assign(this, { file, told, callTool: patiently(waits), isStopped: false, handedOver: new Map(), done: new Set(), stored: new Map(), later: [] });
  }

  // Nothing more is handed over; what was is followed to its outcome.
  stop() {
    this.isStopped = true;
  }

  // Run it to its end, or until it is stopped; whether it came to its end. Throws where the server cannot be asked for some minutes, or somebody else
  // has logged in.
  async run() {
    this.isStopped = false;
    let isWhole = true;
    let problem = null;
    const underWay = new Set();
    for await (const part of parts(this.file)) {
      isWhole = !this.isStopped && !problem;
      if (!isWhole) break;
      if (this.done.has(part.firstLine)) continue;
      const one = this.importPart(part).catch((error) => (problem ??= error)).finally(() => underWay.delete(one));
      underWay.add(one);
      if (underWay.size >= UNDER_WAY) await Promise.race(underWay);
    }
    await Promise.all(underWay);
    if (problem) throw problem;
    while (isWhole && this.later.length) await this.sayLater(this.later.shift());
    return isWhole;
  }

  async importPart(part) {
    const { name, lastModified } = this.file;
    const args = { name: plainName(name), text: part.text, first_line: part.firstLine, modified: new Date(lastModified).toISOString() };
    let items = this.handedOver.get(part.firstLine); // before it stopped
    try {
      items ??= (await this.callTool("import_memories", args)).items;
    } catch (error) {
      if (isPassing(error) || error.status === 401) throw error;
      const last = Math.max(part.firstLine + part.text.split("\n").length - 2, part.firstLine);
      this.told({ line: part.firstLine, memories: part.memories, state: "failed", error: `lines ${part.firstLine} to ${last}: ${error.message}` });
      this.done.add(part.firstLine);
      return;
    }
    this.handedOver.set(part.firstLine, items);
    const known = new Map();
    const sent = items.filter((item) => item.request_id);
    if (sent.length) {
      await outcomes(sent.map((item) => item.request_id), (requests) => requests.forEach((one) => known.set(one.request_id, one)), this.callTool);
    }
    for (const item of items) this.tell(item, known.get(item.request_id));
    this.handedOver.delete(part.firstLine);
    this.done.add(part.firstLine);
  }

  tell({ line, error, left_out, ...item }, outcome) {
    if (!outcome) return this.told({ line, state: "failed", error });
    const { state, memory_id } = outcome;
    this.told({ line, state, memory_id, error: outcome.error, left_out });
    if (!memory_id) return undefined;
    this.stored.set(item.content_hash, { id: memory_id, isNew: state === "stored" });
    if (item.superseded_by_hash || item.tags) this.later.push({ line, ...item });
    return undefined;
  }

  // What an export says of a memory and an ingest cannot: all its tags, and what replaces it.
  async sayLater(item) {
    const { id, isNew } = this.stored.get(item.content_hash);
    const successor = this.stored.get(item.superseded_by_hash);
    const changes = item.tags && isNew ? [{ tags: item.tags.length ? item.tags : ["none"] }] : [];
    if (successor) changes.push({ superseded_by: successor.id });
    const problem = (error) => this.told({ line: item.line, memories: 0, state: "incomplete", error });
    if (item.superseded_by_hash && !successor) problem("stored, but what supersedes it is not in this file: update_memory says so");
    for (const change of changes) {
      await this.callTool("update_memory", { id, ...change }).catch((error) => problem(`stored, but not all of it: ${error.message}`));
    }
  }
}
