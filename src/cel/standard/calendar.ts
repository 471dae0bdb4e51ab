import {declare, member, type FunctionDeclaration} from '#src/cel/check/declarations.js';
import {inZone} from '#src/cel/values/time.js';
import {duration, int, string, timestamp} from '#src/cel/values/types.js';
import {Failure, type Duration, type Timestamp, type Value} from '#src/cel/values/values.js';

const dayOfYear = (date: Date): number => Math.floor((date.getTime() - new Date(date).setUTCMonth(0, 1)) / 86_400_000);

/** The timestamp accessors. `getDayOfMonth` counts from zero, `getDate` from one. */
const fields: readonly (readonly [name: string, id: string, of: (date: Date) => number])[] = [
  ['getFullYear', 'timestamp_to_year', date => date.getUTCFullYear()],
  ['getMonth', 'timestamp_to_month', date => date.getUTCMonth()],
  ['getDayOfYear', 'timestamp_to_day_of_year', dayOfYear],
  ['getDayOfMonth', 'timestamp_to_day_of_month', date => date.getUTCDate() - 1],
  ['getDate', 'timestamp_to_day_of_month_1_based', date => date.getUTCDate()],
  ['getDayOfWeek', 'timestamp_to_day_of_week', date => date.getUTCDay()],
  ['getHours', 'timestamp_to_hours', date => date.getUTCHours()],
  ['getMinutes', 'timestamp_to_minutes', date => date.getUTCMinutes()],
  ['getSeconds', 'timestamp_to_seconds', date => date.getUTCSeconds()],
  ['getMilliseconds', 'timestamp_to_milliseconds', date => date.getUTCMilliseconds()],
];

/** The duration accessors, and the nanoseconds of their units. */
const lengths: Readonly<Record<string, readonly [id: string, nanos: bigint]>> = {
  getHours: ['duration_to_hours', 3_600_000_000_000n],
  getMinutes: ['duration_to_minutes', 60_000_000_000n],
  getSeconds: ['duration_to_seconds', 1_000_000_000n],
  getMilliseconds: ['duration_to_milliseconds', 1_000_000n],
};

/** Accessors of timestamps and durations, such as `getFullYear`. */
export const calendar: readonly FunctionDeclaration[] = fields.map(([name, id, of]) => {
  const shown = (time: Timestamp, zone?: string): Value => {
    const date = inZone(time, zone);
    return date instanceof Failure ? date : BigInt(of(date));
  };
  const length = lengths[name];
  return declare(
    name,
    member(id, [timestamp], int, (time: Timestamp) => shown(time)),
    member(`${id}_with_tz`, [timestamp, string], int, shown),
    ...(length ? [member(length[0], [duration], int, ({nanos}: Duration) => nanos / length[1])] : []),
  );
});
