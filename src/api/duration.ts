const units: Record<string, number> = {ns: 1e-6, us: 1e-3, µs: 1e-3, μs: 1e-3, ms: 1, s: 1e3, m: 6e4, h: 3.6e6};

const sign = /[+-]?/y;
const part = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/y;

/**
 * Returns the ms of a duration like `1h2m3.5s` or `0`; undefined for anything else. Reads part by part: clients choose
 * the text.
 */
export const parseDuration = (text: string): number | undefined => {
  sign.lastIndex = 0;
  const [signText] = sign.exec(text)!;
  if (text.slice(signText.length) === '0') return 0;
  let total = 0;
  part.lastIndex = signText.length;
  do {
    const found = part.exec(text);
    if (!found) return undefined;
    total += Number(found[1]) * units[found[2]!]!;
  } while (part.lastIndex < text.length);
  return signText === '-' ? -total : total;
};

/** Formats a duration as Go does: `1h2m3s`, `100ms`, `0s`. */
export const formatDuration = (ms: number): string => {
  if (ms === 0) return '0s';
  const sign = ms < 0 ? '-' : '';
  const size = Math.abs(ms);
  if (size < 1000) return `${sign}${size < 1 ? `${size * 1000}µs` : `${size}ms`}`;
  const hours = Math.floor(size / 3.6e6);
  const minutes = Math.floor((size % 3.6e6) / 6e4);
  const seconds = Number(((size % 6e4) / 1000).toFixed(9));
  return `${sign}${hours ? `${hours}h` : ''}${hours || minutes ? `${minutes}m` : ''}${seconds}s`;
};

/** Formats a duration as in tables, with at most two units (`5m30s`, `3h`, `12d`, `2y40d`). */
export const humanDuration = (ms: number): string => {
  const seconds = Math.trunc(ms / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  const two = (size: number, big: number, bigUnit: string, smallUnit: string, small: number) => {
    const rest = Math.floor((size % big) / small);
    return `${Math.floor(size / big)}${bigUnit}${rest ? `${rest}${smallUnit}` : ''}`;
  };
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(seconds / 3600);
  if (seconds < 120) return `${seconds}s`;
  if (minutes < 10) return two(seconds, 60, 'm', 's', 1);
  if (minutes < 180) return `${minutes}m`;
  if (hours < 8) return two(minutes, 60, 'h', 'm', 1);
  if (hours < 48) return `${hours}h`;
  if (hours < 192) return two(hours, 24, 'd', 'h', 1);
  if (hours < 24 * 365 * 2) return `${Math.floor(hours / 24)}d`;
  if (hours < 24 * 365 * 8) return two(Math.floor(hours / 24), 365, 'y', 'd', 1);
  return `${Math.floor(hours / 24 / 365)}y`;
};

/** Formats the age of a time, given in ms since the epoch. */
export type Ago = (at: number) => string;

/** Returns a formatter of ages relative to `now`. */
export const agoFrom =
  (now: number): Ago =>
  at =>
    humanDuration(now - at);
