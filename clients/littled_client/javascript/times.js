// Times as ISO 8601 writes them, and their parts on the clocks of a time zone.

const WRITTEN =
  /^(\d{4})(-?)(\d{2})\2(\d{2})(?:[T ](\d{2})(?:(:?)(\d{2})(?:\6(\d{2})(?:[.,]\d+)?)?)?(Z|[+-]\d{2}(?::?\d{2}(?::?\d{2})?)?)?)?$/;
const DAY_SECONDS = 86_400;

/**
 * The parts of a time, each counted from 0: month, day, weekday (Monday is 0), hour and minute.
 *
 * A Date, or a text with a zone of its own, is put into `zone`; a text without one is in it. null
 * for anything else.
 */
export function localTime(value, zone) {
  if (value instanceof Date) return inZone(value.getTime(), zone);
  const match = typeof value === "string" ? WRITTEN.exec(value.trim()) : null;
  if (match === null) return null;
  const [year, month, day, hour, minute, second] = [1, 3, 4, 5, 7, 8].map((i) => Number(match[i] ?? 0));
  const date = new Date(Date.UTC(2000, 0, 1, hour, minute, second));
  date.setUTCFullYear(year, month - 1, day); // years below 100 as well
  const isDate = year > 0 && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  const right = isDate && hour < 24 && minute < 60 && second < 60;
  if (!right) return null;
  if (match[9] === undefined) return partsOf(date.getTime());
  return inZone(date.getTime() - 1000 * offsetSeconds(match[9]), zone);
}

function offsetSeconds(text) {
  if (text === "Z") return 0;
  const [hours, minutes, seconds] = text.slice(1).replaceAll(":", "").match(/\d{2}/g).map(Number);
  const size = 3600 * hours + 60 * (minutes ?? 0) + (seconds ?? 0);
  return text[0] === "-" ? -size : size;
}

/** The parts of a moment, in milliseconds since 1970, on the clocks of a zone. */
function inZone(moment, zone) {
  if (!Number.isFinite(moment)) return null;
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: zone, hourCycle: "h23", era: "short", year: "numeric", month: "numeric", day: "numeric",
    hour: "numeric", minute: "numeric", second: "numeric",
  });
  const part = Object.fromEntries(format.formatToParts(moment).map(({ type, value }) => [type, Number(value)]));
  return partsOf(Date.UTC(part.year, part.month - 1, part.day, part.hour, part.minute));
}

function partsOf(moment) {
  const date = new Date(moment);
  return {
    month: date.getUTCMonth(),
    day: date.getUTCDate() - 1,
    weekday: (((Math.floor(moment / 1000 / DAY_SECONDS) + 3) % 7) + 7) % 7,
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
  };
}
