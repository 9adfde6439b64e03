// Imports of this tab, latest first. They continue while other pages are shown.
import { forgetLists } from "./address.js";
import { emptyReason, isKnown } from "./file_chunks.js";
import { pathOf } from "./folders.js";
import { count, Import } from "./import_file.js";
import { observable } from "./observable.js";
import { quantity, number } from "./text.js";
import { askBeforeLeaving } from "./unsaved.js";

const REFRESH_MS = 250; // the page is updated at most this often, because a line may end every millisecond
const MOST_FILES = 4; // maximum files that are imported at the same time

// `list` has the imports. Because an import is changed in place, each change also increases `version`, so that the list
// is rendered again.
export const imports = observable({ list: [], version: 0 });

const redraw = () => imports.set({ list: imports.get().list, version: imports.get().version + 1 });

askBeforeLeaving(() => imports.get().list.some(({ isRunning }) => isRunning));

export async function importFiles(files) {
  const entries = [...files].map((file) =>
    ({ name: pathOf(file), file, total: 0, done: 0, lines: [], error: null, state: "Waits." }));
  for (const entry of entries) {
    const onLine = (line) => {
      entry.done += line.memories ?? 1;
      entry.lines.push(line);
    };
    const onWait = (reason) => { entry.state = reason ? `Waiting: ${reason}` : "Importing …"; };
    entry.work = new Import(entry.file, onLine, onWait);
  }
  imports.get().list.unshift(...entries.toReversed());
  redraw();
  const waiting = entries.slice();
  const work = async () => { while (waiting.length) await run(waiting.shift()); };
  await Promise.all(Array.from({ length: MOST_FILES }, work));
}

// Whether a file is hidden, or is in a hidden subfolder such as `.trash`, which has deleted notes. The files of a
// hidden folder that the person has chosen are not hidden.
const isHidden = ({ name, webkitRelativePath: path }) =>
  (path || `/${name}`).split("/").slice(1).some((part) => part.startsWith("."));

// Import the files of a folder that have a known extension, such as .md, and return their number. Hidden files are
// skipped.
export function importFolder(files) {
  const candidates = [...files].filter((file) => isKnown(file.name) && !isHidden(file));
  importFiles(candidates);
  return candidates.length;
}

// Resume an import at the request of the person who is logged in.
export const resume = (entry) => run(entry, () => entry.work.resume());

async function run(entry, work = () => entry.work.run()) {
  Object.assign(entry, { isRunning: true, isStopped: false, state: "Importing …", error: null });
  Object.assign(entry, { start: performance.now(), doneBefore: entry.done });
  const timer = setInterval(redraw, REFRESH_MS);
  redraw();
  try {
    if (!entry.total) entry.total = await countMemories(entry.file);
    entry.isStopped = !(await work());
    entry.state = entry.isStopped ? "Stopped." : "Done.";
  } catch (error) {
    Object.assign(entry, { state: "Stopped.", isStopped: entry.total > 0, error });
  }
  clearInterval(timer);
  entry.isRunning = false;
  forgetLists();
  redraw();
}

// Stop all imports and empty the list before the next log-in, because the next person may have another namespace.
export function clearImports() {
  for (const { work } of imports.get().list) work.stop();
  imports.set({ list: [], version: imports.get().version + 1 });
}

// Number of memories in a file. Throws if there are none.
async function countMemories(file) {
  try {
    const total = await count(file);
    if (!total) throw new Error(emptyReason(file.name));
    return total;
  } catch (error) {
    throw new Error(`${pathOf(file)} cannot be read: ${error.message}`, { cause: error });
  }
}

export const isFailure = ({ state }) => !["stored", "duplicate", "deleted"].includes(state);

// Number of memories by outcome.
export function countsOf(lines) {
  const counts = { stored: 0, duplicates: 0, failed: 0 };
  for (const line of lines) {
    const kind = isFailure(line) ? "failed" : line.state === "stored" ? "stored" : "duplicates";
    counts[kind] += line.memories ?? 1;
  }
  return counts;
}

// The remaining time in words. Empty until 5% of the file is done, because the speed is unknown before.
export function timeLeft({ total, done, doneBefore = 0, start }, now = performance.now()) {
  const advance = done - doneBefore;
  if (!total || done >= total || advance < total / 20) return "";
  const seconds = Math.ceil(((now - start) / 1000 / advance) * (total - done));
  if (seconds < 90) return `about ${quantity(seconds, "second")} left`;
  return `about ${number(Math.ceil(seconds / 60))} minutes left`;
}
