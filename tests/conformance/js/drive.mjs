// Drive every tool of the server with one of the JavaScript SDKs; prints what was listed and called as JSON.
// Usage: node drive.mjs sdk|client URL
import { setTimeout as pause } from "node:timers/promises";

const [which, url] = process.argv.slice(2);
let client, transport;
if (which === "sdk") {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
  client = new Client({ name: "drive", version: "1" });
  transport = new StreamableHTTPClientTransport(new URL(url));
} else {
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  client = new Client({ name: "drive", version: "1" });
  transport = new StreamableHTTPClientTransport(new URL(url));
}
await client.connect(transport);
const called = [];
const call = async (name, args) => {
  const result = await client.callTool({ name, arguments: args });
  if (result.isError) throw new Error(`${name}: ${result.content[0].text}`);
  called.push(name);
  return result.structuredContent;
};

const tools = (await client.listTools()).tools.map((tool) => tool.name);
const content = `the ${which} javascript client was here ${process.pid}`;
const { request_id } = await call("ingest_memory", { content, timestamp: "2026-05-20T12:00:00Z", tags: [which] });
let status;
for (let tries = 0; tries < 500; tries++) {
  [status] = (await call("ingest_status", { request_id })).requests;
  if (status.state !== "queued") break;
  await pause(20);
}
if (status.state !== "stored") throw new Error(`not stored: ${JSON.stringify(status)}`);
const id = status.memory_id;
const found = await call("memory_search", { query: content, tags: [which], limit: 1 });
if (found.memories[0].id !== id) throw new Error("not found");
await call("retrieve_memories", { query: content });
await call("get_memory", { id });
await call("list_memories", {});
const others = process.argv[4] ? JSON.parse(process.argv[4]) : {};
for (const [name, args] of Object.entries(others)) await call(name, { ...args, ...(args.id === "ID" ? { id } : {}) });
await call("delete_memory", { id });
await client.close();
console.log(JSON.stringify({ tools, called: [...new Set(called)] }));
process.exit(0);
