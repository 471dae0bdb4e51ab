/** The fields of a schedule: their names and their ranges. */
const fields = [
  ['minute', 0, 59],
  ['hour', 0, 23],
  ['day of month', 1, 31],
  ['month', 1, 12],
  ['day of week', 0, 6],
] as const;

const minute = 60_000;
const day = 1440 * minute;

/** The times at which something runs, in UTC. */
export interface Schedule {
  /** Returns the first time after `ms` since the epoch; undefined if there is none within four years. */
  next(ms: number): number | undefined;
}

const valuesOf = (text: string, [name, least, most]: (typeof fields)[number]): ReadonlySet<number> => {
  const values = new Set<number>();
  for (const part of text.split(',')) {
    const [, range = '', from, to, step = '1'] = /^(\*|(\d+)(?:-(\d+))?)(?:\/(\d+))?$/.exec(part) ?? [];
    const first = range === '*' ? least : Number(from);
    const last = range === '*' || (part.includes('/') && to === undefined) ? most : Number(to ?? from);
    if (!range || first < least || last > most || first > last || step === '0')
      throw new Error(`"${part}" is no ${name} from ${least} to ${most}`);
    for (let value = first; value <= last; value += Number(step)) values.add(value);
  }
  return values;
};

/** Parses five fields as cron has them, such as `0 3 * * 1`. Throws an error that names the field. */
export const parseSchedule = (text: string): Schedule => {
  const parts = text.trim().split(/\s+/);
  if (parts.length !== fields.length) throw new Error(`it has ${parts.length} fields, not ${fields.length}`);
  const [minutes, hours, days, months, weekdays] = fields.map((field, at) => valuesOf(parts[at]!, field)) as [
    Set<number>,
    Set<number>,
    Set<number>,
    Set<number>,
    Set<number>,
  ];
  // As cron has it: where both days are limited, one of them is enough.
  const isEither = !parts[2]!.startsWith('*') && !parts[4]!.startsWith('*');
  const hasDay = (at: Date): boolean => {
    const [inMonth, inWeek] = [days.has(at.getUTCDate()), weekdays.has(at.getUTCDay())];
    return months.has(at.getUTCMonth() + 1) && (isEither ? inMonth || inWeek : inMonth && inWeek);
  };
  return {
    next(ms) {
      const end = ms + 4 * 366 * day;
      for (let at = Math.floor(ms / minute) * minute + minute; at < end;) {
        const date = new Date(at);
        if (!hasDay(date)) at = Math.floor(at / day) * day + day;
        else if (hours.has(date.getUTCHours()) && minutes.has(date.getUTCMinutes())) return at;
        else at += minute;
      }
      return undefined;
    },
  };
};
