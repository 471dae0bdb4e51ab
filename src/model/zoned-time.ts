/** A local date and time. */
export interface WallTime {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  readonly day: number;
  /** Sunday is 0. */
  readonly weekday: number;
  readonly hour: number;
  readonly minute: number;
  /** The offset from UTC in ms. */
  readonly offsetMs: number;
}

/** Converts a time in ms to local time. */
export type WallClock = (ms: number) => WallTime;

const utcClock: WallClock = ms => {
  const date = new Date(ms);
  return {
    year: date.getUTCFullYear(),
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    weekday: date.getUTCDay(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
    offsetMs: 0,
  };
};

const createWallClock = (zone: string | undefined): WallClock => {
  const format = new Intl.DateTimeFormat('en-US', {
    ...(zone === undefined ? {} : {timeZone: zone}),
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  if (['UTC', 'Etc/UTC', 'Etc/UCT', 'GMT'].includes(format.resolvedOptions().timeZone)) return utcClock;
  return ms => {
    const [month = 0, day = 0, year = 0, hour = 0, minute = 0, second = 0] = (format.format(ms).match(/\d+/g) ?? []).map(Number);
    const local = Date.UTC(year, month - 1, day, hour, minute, second);
    return {year, month, day, weekday: new Date(local).getUTCDay(), hour, minute, offsetMs: local - Math.floor(ms / 1000) * 1000};
  };
};

const clocks = new Map<string | undefined, WallClock>();

/** Returns the clock of an IANA time zone, or of the process's zone. Throws for an unknown zone. */
export const wallClockOf = (zone: string | undefined): WallClock => {
  let clock = clocks.get(zone);
  if (!clock) clocks.set(zone, (clock = createWallClock(zone)));
  return clock;
};

const two = (value: number): string => String(value).padStart(2, '0');

/** Formats a time as RFC 3339 with whole seconds in local time. */
export const formatWallTime = (ms: number, clock: WallClock): string => {
  const {offsetMs} = clock(ms);
  const text = new Date(ms + offsetMs).toISOString().slice(0, 19);
  if (offsetMs === 0) return `${text}Z`;
  const minutes = Math.abs(Math.round(offsetMs / 60_000));
  return `${text}${offsetMs < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
};
