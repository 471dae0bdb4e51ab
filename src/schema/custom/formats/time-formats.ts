import {parseDuration} from '#src/api/duration.js';

/** Reports whether the text is a date like `2006-01-02`. */
export const isDate = (text: string): boolean => {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? [];
  if (year === undefined || Number(month) < 1 || Number(month) > 12 || Number(day) < 1) return false;
  const last = new Date(0);
  last.setUTCFullYear(Number(year), Number(month), 0);
  return Number(day) <= last.getUTCDate();
};

/** Reports whether the text is a date, a `T` and a time with zone. Anything after a second `T` is ignored. */
export const isDateTime = (text: string): boolean => {
  const [day = '', time] = text.toLowerCase().split('t');
  const [, hours, minutes, seconds] = /^(\d{2}):(\d{2}):(\d{2})(?:[^\n]\d+)?(?:z|[+-]\d{2}:\d{2})$/.exec(time ?? '') ?? [];
  return hours !== undefined && isDate(day) && hours <= '23' && minutes! <= '59' && seconds! <= '59';
};

/** The names of each unit; a text that begins with the last one matches as well. */
const units = ['ns nano', 'us µs micro', 'ms milli', 's sec', 'm min', 'h hr hour', 'd day', 'w wk week'].map(words => words.split(' '));

const isUnit = (word: string): boolean => units.some(words => words.includes(word) || word.startsWith(words.at(-1)!));

/** Longer texts are not accepted as durations. */
const longest = 1000;

/**
 * Reports whether the text is a duration such as `1h30m`, or has an amount with a unit such as `3 days` anywhere in it.
 */
export const isDuration = (text: string): boolean => {
  if (text.length > longest) return false;
  if (parseDuration(text) !== undefined) return true;
  const found = [...text.matchAll(/(?<!\d)(\d+)\s*([A-Za-zµ]+)/g)];
  return found.every(([, amount]) => BigInt(amount!) < 2n ** 63n) && found.some(([, , unit]) => isUnit(unit!.toLowerCase()));
};
