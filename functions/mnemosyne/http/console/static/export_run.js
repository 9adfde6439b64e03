// The export that this tab started last. It continues while other pages are shown.
import { save } from "./components.js";
import { client } from "./mcp.js";
import { observable } from "./observable.js";
import { showToast } from "./toast.js";
import { askBeforeLeaving } from "./unsaved.js";
import { zip } from "./zip.js";

// `run` is null before the first export. Otherwise it has these fields:
//   busy       whether the export is running
//   written    the number of memories that were read
//   total      the number of memories at the start; undefined if unknown
//   isStopped  whether the person has stopped the export
//   error      the error that ended the export, or null
//   done       whether the file was saved
export const latestExport = observable({ run: null });

askBeforeLeaving(() => latestExport.get().run?.busy);

// Stop the export and forget it before the next log-in, because the next person may have another namespace.
export function clearExport() {
  stopExport();
  latestExport.set({ run: null });
}

export function stopExport() {
  const { run } = latestExport.get();
  if (run) run.isStopped = true;
}

// Read all pages of an export: JSON lines as texts, Markdown as files.
async function readExport(format, run, onPage) {
  const pieces = [];
  const callTool = client.retrying();
  const wanted = format === "markdown" ? { format } : {};
  let cursor;
  do {
    const page = await callTool("export_memories", { ...wanted, ...(cursor && { cursor }) });
    pieces.push(...(page.files ?? [page.lines]));
    onPage(page.files?.length ?? page.memories);
    cursor = page.next_cursor;
  } while (cursor && !run.isStopped);
  if (run.isStopped) throw new Error("The export was stopped: no file was saved.");
  return pieces;
}

// Export all memories into a file. If the person is on another page, an error is shown at the foot of the page.
export async function startExport(format, total) {
  const run = { busy: true, written: 0, total, isStopped: false, error: null, done: false };
  const isLatest = () => latestExport.get().run === run;
  const change = (fields) => {
    Object.assign(run, fields);
    if (isLatest()) latestExport.set({ run });
  };
  latestExport.set({ run });
  try {
    const pieces = await readExport(format, run, (count) => change({ written: run.written + count }));
    if (format === "markdown") save("memories.zip", zip(pieces), "application/zip");
    else save("memories.jsonl", pieces);
    change({ busy: false, done: true });
  } catch (error) {
    change({ busy: false, error });
    if (isLatest() && location.pathname !== "/import") showToast(`Export: ${error.message}`);
  }
}
