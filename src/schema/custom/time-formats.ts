import {parseDuration} from '#src/api/duration.js';

/** A day of the calendar as `2006-01-02`. */
export const isDate = (text: string): boolean => {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? [];
  if (year === undefined || Number(month) < 1 || Number(month) > 12 || Number(day) < 1) return false;
  const last = new Date(0);
  last.setUTCFullYear(Number(year), Number(month), 0);
  return Number(day) <= last.getUTCDate();
};

/** A day, a `T` and a time with its zone. What stands behind a second `T` is not looked at. */
export const isDateTime = (text: string): boolean => {
  const [day = '', time] = text.toLowerCase().split('t');
  const [, hours, minutes, seconds] = /^(\d{2}):(\d{2}):(\d{2})(?:[^\n]\d+)?(?:z|[+-]\d{2}:\d{2})$/.exec(time ?? '') ?? [];
  return hours !== undefined && isDate(day) && hours <= '23' && minutes! <= '59' && seconds! <= '59';
};

/** The words of each unit; the last one stands for all that begin like it. */
const units = ['ns nano', 'us µs micro', 'ms milli', 's sec', 'm min', 'h hr hour', 'd day', 'w wk week'].map(words => words.split(' '));

const isUnit = (word: string): boolean => units.some(words => words.includes(word) || word.startsWith(words.at(-1)!));

/** Longer texts are no durations, whatever they say. */
const longest = 1000;

/** `1h30m`, or an amount with a unit's name such as `3 days` anywhere in the text. */
export const isDuration = (text: string): boolean => {
  if (text.length > longest) return false;
  if (parseDuration(text) !== undefined) return true;
  const found = [...text.matchAll(/(\d+)\s*([A-Za-zµ]+)/g)];
  return found.every(([, amount]) => BigInt(amount!) < 2n ** 63n) && found.some(([, , unit]) => isUnit(unit!.toLowerCase()));
};
