// Tags as a person types them: separated by commas, in quotes if a tag has a comma or a quote.

const TAG = /\s*(?:"((?:[^"]|"")*)"|([^,]*))\s*(?:,|$)/g;

// Split a text into tags. Within quotes, `""` is a quote.
export const parseTags = (text) =>
  [...text.matchAll(TAG)]
    .map(([, quoted, plain]) => (quoted?.replaceAll('""', '"') ?? plain).trim())
    .filter(Boolean);

const quote = (tag) => (/[",]/.test(tag) ? `"${tag.replaceAll('"', '""')}"` : tag);

// The inverse of parseTags.
export const formatTags = (tags) => tags.map(quote).join(", ");

// Address of a search for memories with a tag.
export const tagAddress = (tag) => `/?tags=${encodeURIComponent(formatTags([tag]))}`;
