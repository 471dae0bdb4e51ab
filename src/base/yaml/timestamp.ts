import {daysInMonth} from '#src/base/calendar/days-in-month.js';

const form =
  /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[Tt](\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,]\d+)?(?:Z|[-+](\d\d):(\d\d))|(?: (\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,]\d+)?))?$/;

/** Reports whether a text is a time of YAML 1.1 in one of the forms that the original knows. */
export const isTimestamp = (text: string): boolean => {
  const found = form.exec(text);
  if (!found) return false;
  const [year = 0, month = 0, day = 0, ...rest] = found.slice(1).map(digits => Number(digits ?? 0)); // Absent parts count as zero.
  const [hour = 0, minute = 0, second = 0, zoneHour = 0, zoneMinute = 0, otherHour = 0, otherMinute = 0, otherSecond = 0] = rest;
  return (
    month >= 1 &&
    month <= 12 &&
    day >= 1 &&
    day <= daysInMonth(year, month) &&
    Math.max(hour, otherHour) < 24 &&
    Math.max(minute, second, otherMinute, otherSecond) < 60 &&
    zoneHour <= 24 &&
    zoneMinute <= 60
  );
};
