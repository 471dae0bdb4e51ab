// The times of a query, as Go parses RFC 3339: an hour may have one digit, and a fraction may follow a comma.

/** A time of a query. */
export interface QueryTime {
  /** In ms since the epoch. */
  readonly at: number;
  /** As messages show it. */
  readonly text: string;
}

const pattern = /^(?<date>\d{4}-\d{2}-\d{2})T(?<hour>\d{1,2}):(?<rest>\d{2}:\d{2})(?:[.,](?<fraction>\d+))?(?<zone>Z|[+-]\d{2}:\d{2})$/;

/** Returns the time; undefined for a text that is none. */
export const queryTime = (text: string): QueryTime | undefined => {
  const {date = '', hour = '', rest = '', fraction = '', zone = ''} = pattern.exec(text)?.groups ?? {};
  const local = `${date}T${hour.padStart(2, '0')}:${rest}`;
  const reading = Date.parse(`${local}Z`);
  // A day that its month does not have would be one of the next month.
  if (Number.isNaN(reading) || new Date(reading).toISOString().slice(0, 19) !== local) return undefined;
  const at = Date.parse(`${local}${fraction && `.${fraction}`}${zone}`);
  if (Number.isNaN(at)) return undefined;
  const digits = fraction.slice(0, 9).replace(/0+$/, '');
  return {at, text: `${local}${digits && `.${digits}`}${/^[+-]00:00$/.test(zone) ? 'Z' : zone}`};
};
