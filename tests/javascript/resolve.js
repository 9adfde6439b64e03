// Resolve `./time.js` of the console, which the server adds to its files: functions/mnemosyne/http/console/site.py.
import { register } from "node:module";

const TIME = new URL("../../functions/mnemosyne/mcp/app/time.js", import.meta.url).href;
const HOOK = `export const resolve = (specifier, context, next) =>
  specifier === "./time.js" ? { url: ${JSON.stringify(TIME)}, shortCircuit: true } : next(specifier, context);`;

register(`data:text/javascript,${encodeURIComponent(HOOK)}`);
