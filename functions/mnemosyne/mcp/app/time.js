// Times as people read them. Shared by the MCP App and the console.

const FORMAT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

// Chromium names a zone that it does not know Etc/Unknown, and shows times in UTC. It does not know the zone if TZ is
// `:/etc/localtime`, for example.
export const zoneOf = (name) => (!name || name === "Etc/Unknown" ? "UTC" : name);

export const ZONE = zoneOf(FORMAT.resolvedOptions().timeZone);

// Format a timestamp in the local time zone. Text that is not a timestamp is returned unchanged.
export const formatTime = (timestamp) =>
  Number.isNaN(Date.parse(timestamp)) ? timestamp : FORMAT.format(new Date(timestamp));
