// Times as people read them. Shared by the MCP App and the console.

const FORMAT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

export const ZONE = FORMAT.resolvedOptions().timeZone;

// Format a timestamp in the local time zone. Text that is not a timestamp is returned unchanged.
export const formatTime = (timestamp) =>
  Number.isNaN(Date.parse(timestamp)) ? timestamp : FORMAT.format(new Date(timestamp));
