// Collect the files of a drop, including the files in folders, and find the path of each file in its folder.

const paths = new WeakMap(); // paths of the files that were collected from dropped folders

// The path of a file in the folder that was chosen or dropped. The path begins with the name of this folder, because
// two folders may have notes with equal paths below them. The path of a file without a folder is its name.
export const pathOf = (file) => paths.get(file) ?? (file.webkitRelativePath || file.name);

const fileOf = (entry) => new Promise((resolve, reject) => { entry.file(resolve, reject); });
const readSome = (reader) => new Promise((resolve, reject) => { reader.readEntries(resolve, reject); });

// Collect the files of a file system entry, which is a file or a folder. The reader of a folder returns a few entries
// with each call, and none after the last entry. `parent` is the path of the entry's folder, which ends with a slash.
async function collect(entry, files, parent = "") {
  if (entry.isFile) {
    const file = await fileOf(entry);
    paths.set(file, parent + file.name);
    files.push(file);
  } else if (entry.isDirectory && !entry.name.startsWith(".")) {
    const reader = entry.createReader();
    for (let some = await readSome(reader); some.length; some = await readSome(reader)) {
      for (const inner of some) await collect(inner, files, `${parent}${entry.name}/`);
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
