// Collect the files of a drop, including the files in folders.

const fileOf = (entry) => new Promise((resolve, reject) => { entry.file(resolve, reject); });
const readSome = (reader) => new Promise((resolve, reject) => { reader.readEntries(resolve, reject); });

// Collect the files of a file system entry, which is a file or a folder. The reader of a folder returns a few entries
// with each call, and none after the last entry.
async function collect(entry, files) {
  if (entry.isFile) files.push(await fileOf(entry));
  else if (entry.isDirectory && !entry.name.startsWith(".")) {
    const reader = entry.createReader();
    for (let some = await readSome(reader); some.length; some = await readSome(reader)) {
      for (const inner of some) await collect(inner, files);
    }
  }
}

// Return the files of a drop: `files` were dropped directly, and `inFolders` are in folders. Entries must be read
// before the event ends.
export async function filesOf({ items, files }) {
  const entries = [...items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  const folders = entries.filter(({ isDirectory }) => isDirectory);
  if (!folders.length) return { files: [...files], inFolders: [] };
  const direct = await Promise.all(entries.filter(({ isFile }) => isFile).map(fileOf));
  const inFolders = [];
  for (const folder of folders) await collect(folder, inFolders);
  return { files: direct, inFolders };
}
