// Make a zip file of uncompressed texts: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT.

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const END_64 = 0x06064b50;
const LOCATOR_64 = 0x07064b50;
const VERSION_64 = 45; // 4.5, the lowest version with ZIP64
const MOST = 0xffff; // maximum files of an archive without ZIP64
const VERSION = 20; // 2.0, the lowest version with directories
const UTF8 = 0x0800; // names are UTF-8
const DAY = 0x21; // 1 January 1980, the earliest date; the text of a memory has its time
const POLYNOMIAL = 0xedb88320;

const TABLE = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? POLYNOMIAL ^ (value >>> 1) : value >>> 1;
  return value;
});

// The checksum of the format: CRC-32.
export function crc32(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = TABLE[(crc ^ byte) & 0xff] ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

// Encode numbers in little-endian order. Each field is a pair of a value and its number of bytes.
function header(...fields) {
  const bytes = [];
  for (const [value, size] of fields) {
    for (let index = 0; index < size; index += 1) bytes.push(Math.floor(value / 256 ** index) % 256);
  }
  return Uint8Array.from(bytes);
}

// The records at the end of a zip file. From MOST files on, an additional record (ZIP64) has the number of files.
export function ending(count, size, offset) {
  const many = count < MOST ? [] : [
    header([END_64, 4], [44, 8], [VERSION_64, 2], [VERSION_64, 2], [0, 4], [0, 4], [count, 8], [count, 8], [size, 8],
      [offset, 8]),
    header([LOCATOR_64, 4], [0, 4], [offset + size, 8], [1, 4]),
  ];
  const entries = Math.min(count, MOST);
  return [...many, header([END, 4], [0, 2], [0, 2], [entries, 2], [entries, 2], [size, 4], [offset, 4], [0, 2])];
}

// The pieces of a zip file. Each file has `name` and `text`.
export function zip(files) {
  const encoder = new TextEncoder();
  const pieces = [];
  const directory = [];
  let offset = 0;
  let size = 0;
  for (const { name, text } of files) {
    const [path, content] = [encoder.encode(name), encoder.encode(text)];
    const common = [[VERSION, 2], [UTF8, 2], [0, 2], [0, 2], [DAY, 2], [crc32(content), 4], [content.length, 4],
      [content.length, 4], [path.length, 2], [0, 2]];
    const local = header([LOCAL, 4], ...common);
    pieces.push(local, path, content);
    const central = header([CENTRAL, 4], [VERSION, 2], ...common, [0, 2], [0, 2], [0, 2], [0, 4], [offset, 4]);
    directory.push(central, path);
    offset += local.length + path.length + content.length;
    size += central.length + path.length;
  }
  return [...pieces, ...directory, ...ending(files.length, size, offset)];
}
