// The steps of clients/steps.py with JavaScript's clients: node frameworks.mjs ai-sdk|mcp-remote|sdk|client URL
import { setTimeout as pause } from "node:timers/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { readFileSync } from "node:fs";

const here = dirname(fileURLToPath(import.meta.url));
const version = (name) => JSON.parse(readFileSync(join(here, "node_modules", name, "package.json"))).version;

const connect = {
  "ai-sdk": async (url) => {
    const { createMCPClient } = await import("@ai-sdk/mcp");
    const client = await createMCPClient({ transport: { type: "http", url } });
    const tools = await client.tools();
    const call = (name, args) => tools[name].execute(args, { toolCallId: "call", messages: [] });
    return { version: version("@ai-sdk/mcp"), names: Object.keys(tools), call };
  },
  "mcp-remote": async (url) => {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
    const proxy = join(here, "node_modules/mcp-remote/dist/proxy.js");
    const transport = new StdioClientTransport({
      command: process.execPath, args: [proxy, url, "--allow-http", "--transport", "http-only"], stderr: "ignore",
    });
    return { version: version("mcp-remote"), ...(await connected(new Client({ name: "steps", version: "1" }), transport)) };
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
check("list", ["ingest_memory", "memory_search", "search", "fetch"].every((one) => client.names.includes(one)), client.names);
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
const refused = await call("memory_search", { query: "otter", limit: 1000 });
check("error", refused.includes("limit") && refused.includes("100"), refused);
const deleted = await call("delete_memory", { id: stored[1] });
check("delete", deleted.includes("Deleted memory"), deleted);
console.log(JSON.stringify({ version: client.version, steps: taken }));
process.exit(0);
