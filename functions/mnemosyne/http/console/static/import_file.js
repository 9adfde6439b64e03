// Import a file: send its memories in parts, and wait for the outcome of each part.
import { client, isRetryable } from "./mcp.js";
import { plainName, splitFile } from "./file_chunks.js";
import { pathOf } from "./folders.js";

const MOST_PARTS = 4; // maximum parts that are sent at the same time

// Whether an error stops the import, which can then be resumed.
const isStop = (error) => isRetryable(error) || error.status === 401;

// Count the memories in a file before anything is sent. Throws if the file cannot be read.
export async function count(file) {
  let memories = 0;
  for await (const part of splitFile(file)) memories += part.memories;
  return memories;
}

// An import that can be stopped and resumed.
//   onLine  called with { line, state, memory_id, error } when the outcome of a line is known
//   onWait  called with the reason when the import must wait for the server (see `Client.retrying`)
export class Import {
  constructor(file, onLine, onWait, mcp = client) {
    this.file = file;
    this.onLine = onLine;
    this.mcp = mcp;
    this.onWait = onWait;
    this.callTool = mcp.retrying(onWait);
    this.isStopped = false;
    this.sent = new Map(); // items of parts that have no outcome yet, by first line
    this.done = new Set(); // first lines of finished parts
    this.stored = new Map(); // memories by content hash
    this.updates = []; // items with labels that only update_memory can set
  }

  // Stop sending parts and labels, but still wait for the outcomes of the parts that were sent.
  stop() {
    this.isStopped = true;
  }

  // Resume for the person who is logged in now, also after a new log-in. Call this only at the request of this person:
  // otherwise a file of one person could be imported into the memories of another.
  resume() {
    this.callTool = this.mcp.retrying(this.onWait);
    return this.run();
  }

  // Import until the end of the file, or until `stop` is called. Return whether the whole file was imported. Throws if
  // the server is unavailable for some minutes, or if somebody logs in again during the import.
  async run() {
    this.isStopped = false;
    let isComplete = true;
    let problem = null;
    const running = new Set();
    for await (const part of splitFile(this.file)) {
      isComplete = !this.isStopped && !problem;
      if (!isComplete) break;
      if (this.done.has(part.firstLine)) continue;
      const importing = this.importPart(part)
        .catch((error) => { problem ??= error; })
        .finally(() => running.delete(importing));
      running.add(importing);
      if (running.size >= MOST_PARTS) await Promise.race(running);
    }
    await Promise.all(running);
    if (problem) throw problem;
    while (isComplete && !this.isStopped && this.updates.length) {
      await this.update(this.updates[0]);
      this.updates.shift();
    }
    return isComplete && !this.updates.length;
  }

  async importPart(part) {
    let items = this.sent.get(part.firstLine); // sent before a stop
    try {
      items ??= (await this.callTool("import_memories", this.argumentsOf(part))).items;
    } catch (error) {
      if (isStop(error)) throw error;
      this.fail(part, error);
      this.done.add(part.firstLine);
      return;
    }
    this.sent.set(part.firstLine, items);
    const outcomes = await this.outcomesOf(items);
    for (const item of items) this.report(item, outcomes.get(item.request_id));
    this.sent.delete(part.firstLine);
    this.done.add(part.firstLine);
  }

  argumentsOf({ text, firstLine }) {
    const name = plainName(pathOf(this.file));
    return { name, text, first_line: firstLine, modified: new Date(this.file.lastModified).toISOString() };
  }

  fail({ firstLine, text, memories }, { message }) {
    const last = Math.max(firstLine + text.split("\n").length - 2, firstLine);
    const error = `lines ${firstLine} to ${last}: ${message}`;
    this.onLine({ line: firstLine, memories, state: "failed", error });
  }

  async outcomesOf(items) {
    const ids = items.map((item) => item.request_id).filter(Boolean);
    const outcomes = new Map();
    const keep = (requests) => { for (const request of requests) outcomes.set(request.request_id, request); };
    if (ids.length) await this.mcp.outcomes(ids, keep, this.callTool);
    return outcomes;
  }

  report({ line, error, left_out, ...item }, outcome) {
    if (!outcome) {
      this.onLine({ line, state: "failed", error });
      return;
    }
    const { state, memory_id } = outcome;
    this.onLine({ line, state, memory_id, error: outcome.error, left_out });
    if (!memory_id) return;
    this.stored.set(item.content_hash, { id: memory_id, isNew: state === "stored" });
    if (item.superseded_by_hash || item.tags) this.updates.push({ line, ...item });
  }

  // Set the tags and the successor that a line of an export gives for its memory. Other files have no such values. A
  // memory that existed already is not changed, because it may have changed since the export.
  async update({ line, content_hash: hash, superseded_by_hash: successorHash, tags }) {
    const { id, isNew } = this.stored.get(hash);
    if (!isNew) return;
    const successor = this.stored.get(successorHash);
    // `tags: ["none"]` removes all tags. So if "none" is the only tag of the memory, a second call adds it.
    const isNone = tags?.length === 1 && /^none$/i.test(tags[0].trim());
    const changes = tags ? [{ tags: tags.length && !isNone ? tags : ["none"] }] : [];
    if (isNone) changes.push({ add_tags: tags });
    if (successor) changes.push({ superseded_by: successor.id });
    const fail = (error) => this.onLine({ line, memories: 0, state: "incomplete", error });
    for (const change of changes) {
      await this.callTool("update_memory", { id, ...change }).catch((error) => {
        if (isStop(error)) throw error;
        fail(`stored, but some labels were not set: ${error.message}`);
      });
    }
    if (successorHash && !successor) {
      fail("stored, but the memory that supersedes it is not in this file: set superseded_by with update_memory");
    }
  }
}
