import {daysInMonth} from '#src/base/calendar/days-in-month.js';

/** Caches the last formatted second: most times of a server are in the current one. */
let lastFormatted = {second: Number.NaN, text: ''};

/** RFC 3339 in UTC with whole seconds, as `Time` is on the wire. */
export const wireTime = (ms: number): string => {
  const second = Math.floor(ms / 1000);
  if (second !== lastFormatted.second) lastFormatted = {second, text: `${new Date(ms).toISOString().slice(0, 19)}Z`};
  return lastFormatted.text;
};

/** RFC 3339 in UTC with six decimals, as `MicroTime` is on the wire. */
export const wireMicroTime = (ms: number): string => {
  const whole = Math.floor(ms);
  const micros = Math.floor((ms - whole) * 1000) + (whole - Math.floor(whole / 1000) * 1000) * 1000;
  // The first digit of seven is only there for the zeros after it.
  return `${wireTime(whole).slice(0, -1)}.${String(micros + 1_000_000).slice(1)}Z`;
};

/** RFC 3339 with whole seconds, in a time zone so many minutes east of UTC. */
export const zonedTime = (ms: number, zoneMinutes: number): string => {
  if (zoneMinutes === 0) return wireTime(ms);
  const minutes = Math.abs(zoneMinutes);
  const [hour, minute] = [Math.floor(minutes / 60), minutes % 60].map(part => String(part).padStart(2, '0'));
  return `${wireTime(ms + zoneMinutes * 60_000).slice(0, -1)}${zoneMinutes < 0 ? '-' : '+'}${hour}:${minute}`;
};

const pattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;

/** Whether a time has a day that its month has, and an hour of the day: the engine goes on to the next ones. */
const isOnCalendar = (text: string): boolean => {
  const day = Number(text.slice(8, 10));
  return (day <= 28 || day <= daysInMonth(Number(text.slice(0, 4)), Number(text.slice(5, 7)))) && !text.startsWith('24', 11);
};

/** Returns the ms since the epoch of an RFC 3339 time; undefined for anything else. */
export const parseTime = (text: string | undefined): number | undefined => {
  if (!text || !pattern.test(text) || !isOnCalendar(text)) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
};
