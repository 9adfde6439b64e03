// Converts the schemas of every tool with a strict validator and with zod, as Vercel's AI SDK does. Prints the number
// of tools.
// Usage: node schemas.mjs URL
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import Ajv2020 from "ajv/dist/2020.js";
import { z } from "zod";

const client = new Client({ name: "schemas", version: "1" });
await client.connect(new StreamableHTTPClientTransport(new URL(process.argv[2])));
const { tools } = await client.listTools();
const ajv = new Ajv2020.default({ strict: true, allowUnionTypes: true });
for (const tool of tools) {
  for (const schema of [tool.inputSchema, tool.outputSchema]) ajv.compile(schema);
  const parsed = z.fromJSONSchema(tool.inputSchema);
  if ("limit" in tool.inputSchema.properties) {
    // The converted schema must keep the bounds of a number, so that a client's validator refuses values beyond them.
    const args = { query: "tea", limit: 1000 };
    if (parsed.safeParse(args).success) throw new Error(`${tool.name}: zod lets limit 1000 through`);
  }
}
console.log(JSON.stringify({ tools: tools.length }));
process.exit(0);
