// Files that are dropped on a page or pasted into it are imported.
import { useEffect } from "./vendor/htm-preact.js";
import { filesOf } from "./folders.js";
import { importFiles, importFolder } from "./imports.js";
import { showToast } from "./toast.js";

// Import the files of a folder. If none of them can be imported, show a message.
export function takeFolder(files) {
  const count = importFolder(files);
  if (!count) showToast("The folder has no files that can be imported.");
  return count;
}

// Import the dropped files and folders. Returns the number of files.
async function takeDrop(dataTransfer) {
  const { files, inFolders } = await filesOf(dataTransfer);
  if (files.length) importFiles(files);
  const others = inFolders.length || !files.length ? takeFolder(inFolders) : 0;
  return files.length + others;
}

// Whether something that is dragged contains files. A person may also drag a text or a link, for example into a field.
const hasFiles = ({ dataTransfer }) => dataTransfer.types.includes("Files");

// On every page, keep the browser from opening a dropped file: the file would replace the console, and the log-in would
// be lost.
for (const name of ["dragover", "drop"]) {
  globalThis.addEventListener?.(name, (event) => hasFiles(event) && event.preventDefault());
}

// Import files that are dropped on the page or pasted into it. `onOver` is called with true while files are dragged
// over the page, and with false afterwards. `onTaken` is called with the number of imported files.
export function useDrops({ onOver, onTaken = () => {}, isOn = true }) {
  useEffect(() => {
    if (!isOn) return undefined;
    const leave = new AbortController();
    const { signal } = leave;
    addEventListener("dragover", (event) => hasFiles(event) && onOver(true), { signal });
    addEventListener("dragleave", ({ relatedTarget }) => relatedTarget || onOver(false), { signal });
    addEventListener("drop", async (event) => {
      if (!hasFiles(event)) return;
      onOver(false);
      try {
        const count = await takeDrop(event.dataTransfer);
        if (count) onTaken(count);
      } catch (error) {
        showToast(`Not imported: ${error.message} Choose the files with a button of Import & export.`);
      }
    }, { signal });
    addEventListener("paste", ({ clipboardData, target }) => {
      const { length } = clipboardData.files;
      if (target.closest?.("input, textarea") || !length) return;
      importFiles([...clipboardData.files]);
      onTaken(length);
    }, { signal });
    return () => leave.abort();
  }, [isOn]);
}
