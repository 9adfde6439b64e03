// A host of MCP Apps: the official AppBridge, a sandboxed frame without an origin of its own, and a real client.
import { AppBridge, getToolUiResourceUri, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

// The Content-Security-Policy that a host sets for a view that names no domains. Source: the specification of MCP Apps,
// 2026-01-26, section "Content Security Policy".
const POLICY = [
  "default-src 'none'", "script-src 'self' 'unsafe-inline'", "style-src 'self' 'unsafe-inline'", "img-src 'self' data:",
  "connect-src 'none'",
].join("; ");
const asked = new URL(location.href).searchParams;

async function main() {
  const client = new Client({ name: "host", version: "1" }, {
    capabilities: { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } } },
  });
  await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", location.href)));
  const name = asked.get("tool");
  const args = JSON.parse(asked.get("arguments"));
  const { tools } = await client.listTools();
  const uri = getToolUiResourceUri(tools.find((tool) => tool.name === name));
  const { contents: [view] } = await client.readResource({ uri });
  const result = await client.callTool({ name, arguments: args });
  window.seen = { uri, mimeType: view.mimeType, meta: view._meta, sizes: [], model: result.content };
  const frame = document.querySelector("iframe");
  const bridge = new AppBridge(client, { name: "host", version: "1" }, { serverTools: {}, openLinks: {}, logging: {} },
    { hostContext: { theme: asked.get("theme") ?? "light" } });
  // Resize the frame of the view in an animation of 300 ms, as the official basic-host does.
  bridge.onsizechange = ({ width, height }) => {
    window.seen.sizes.push(height);
    window.seen.width = width;
    const from = { height: `${frame.offsetHeight}px` };
    frame.style.height = `${height}px`;
    frame.animate([from, { height: `${height}px` }], { duration: 300, easing: "ease-out" });
  };
  const initialized = new Promise((done) => (bridge.oninitialized = done));
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.srcdoc = view.text.replace("<head>", `<head><meta http-equiv="Content-Security-Policy" content="${POLICY}">`);
  await initialized;
  await bridge.sendToolInput({ arguments: args });
  await bridge.sendToolResult(result);
  window.send = (later) => bridge.sendToolResult(later);
  window.seen.ready = true;
}

main().catch((error) => (document.title = `failed: ${error.stack}`));
