// Runs the steps of clients/steps.py with a client in JavaScript: node frameworks.mjs NAME URL. The names are below.
import { execFile } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { readFileSync } from "node:fs";

const here = dirname(fileURLToPath(import.meta.url));
const version = (name) => JSON.parse(readFileSync(join(here, "node_modules", name, "package.json"))).version;

const others = JSON.parse(readFileSync(join(here, "../clients/others.json")));
const STEPS = ["ingest_memory", "ingest_status", "memory_search", "delete_memory"];

const aiSdk = (name) => async (url) => {
  const module = await import(name);
  const createClient = module.createMCPClient ?? module.experimental_createMCPClient;
  const client = await createClient({ transport: { type: "http", url } });
  const tools = await client.tools();
  const call = (tool, args) => tools[tool].execute(args, { toolCallId: "call", messages: [] });
  return { version: version(name), names: Object.keys(tools), call };
};

const connect = {
  "ai-sdk": aiSdk("@ai-sdk/mcp"),
  "ai-sdk-1": aiSdk("ai-sdk-mcp-1"),
  inspector: async (url) => {
    const command = join(here, "node_modules/.bin/mcp-inspector");
    const run = async (...args) => {
      const all = ["--cli", url, "--transport", "http", "--method", ...args];
      return (await promisify(execFile)(command, all, { maxBuffer: 1e8 })).stdout;
    };
    const names = JSON.parse(await run("tools/list")).tools.map((tool) => tool.name);
    const text = (value) => (typeof value === "string" ? value : JSON.stringify(value));
    const call = async (name, args) => {
      const given = Object.entries(args).flatMap(([key, value]) => ["--tool-arg", `${key}=${text(value)}`]);
      return JSON.parse(await run("tools/call", "--tool-name", name, ...given));
    };
    return { version: version("@modelcontextprotocol/inspector"), names, call };
  },
  "mcp-remote": async (url) => {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
    const proxy = join(here, "node_modules/mcp-remote/dist/proxy.js");
    const transport = new StdioClientTransport({
      command: process.execPath, args: [proxy, url, "--allow-http", "--transport", "http-only"], stderr: "ignore",
    });
    const client = new Client({ name: "steps", version: "1" });
    return { version: version("mcp-remote"), ...(await connected(client, transport)) };
  },
  sdk: async (url) => {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    const transport = new StreamableHTTPClientTransport(new URL(url));
    const client = new Client({ name: "steps", version: "1" });
    return { version: version("@modelcontextprotocol/sdk"), ...(await connected(client, transport)) };
  },
  client: async (url) => {
    const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
    const transport = new StreamableHTTPClientTransport(new URL(url));
    const client = new Client({ name: "steps", version: "1" });
    return { version: version("@modelcontextprotocol/client"), ...(await connected(client, transport)) };
  },
};

async function connected(client, transport) {
  await client.connect(transport);
  const names = (await client.listTools()).tools.map((tool) => tool.name);
  return { names, call: (name, args) => client.callTool({ name, arguments: args }) };
}

const [which, url] = process.argv.slice(2);
const UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";
const taken = {};
const client = await connect[which](url);
const check = (step, holds, said) => {
  if (!holds) throw new Error(`${step}: ${String(said).slice(0, 500)}`);
  taken[step] = "yes";
};
const call = async (name, args) => {
  try {
    return JSON.stringify(await client.call(name, args)).replaceAll("\\", "");
  } catch (error) {
    return String(error);
  }
};
check("connect", true);
const expected = [...STEPS, ...Object.keys(others)];
const isListed = client.names.length === expected.length && expected.every((name) => client.names.includes(name));
check("list", isListed, client.names);
const content = `The otter crosses the weir at dusk, said ${which} ${process.pid}.`;
const queued = await call("ingest_memory", { content, tags: ["otter"] });
const asked = queued.match(new RegExp(`"request_id":"(${UUID})"`));
check("ingest", asked, queued);
let told = "";
for (let tries = 0; tries < 500; tries++) {
  told = await call("ingest_status", { request_ids: [asked[1]] });
  if (!told.includes('"queued"')) break;
  await pause(20);
}
const stored = told.match(new RegExp(`"memory_id":"(${UUID})"`));
check("status", stored && told.includes('"stored"'), told);
const found = await call("memory_search", { query: "where does the otter cross?", limit: 3 });
check("search", found.includes(stored[1]) && found.includes("crosses the weir"), found);
for (const [name, { arguments: args, says }] of Object.entries(others)) {
  const fill = ([key, value]) => [key, value === "ID" ? stored[1] : value];
  const filled = Object.fromEntries(Object.entries(args).map(fill));
  const said = await call(name, filled);
  check("search", said.includes(says.replace("ID", stored[1])), `${name}: ${said}`);
}
const refused = await call("memory_search", { query: "otter", limit: 1000 });
check("error", refused.includes("limit") && refused.includes("100"), refused);
const deleted = await call("delete_memory", { id: stored[1] });
check("delete", deleted.includes("Deleted memory"), deleted);
console.log(JSON.stringify({ version: client.version, steps: taken }));
process.exit(0);
