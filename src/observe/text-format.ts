/** The content of a log line. */
export interface Line {
  readonly severity: 'I' | 'W' | 'E';
  /** The verbosity of the line. */
  readonly verbosity: number;
  readonly timeMs: number;
  readonly pid: number;
  readonly source: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

const padded = (value: number, width: number, fill = '0'): string => String(value).padStart(width, fill);

/** `I1120 12:34:56.789012   12345 source] "message" key="value"`: klog's header, in local time. */
export const textLine = ({severity, timeMs, pid, source, message, fields}: Line): string => {
  const time = new Date(timeMs);
  const date = padded(time.getMonth() + 1, 2) + padded(time.getDate(), 2);
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map(part => padded(part, 2)).join(':');
  const micros = padded(Math.floor((timeMs - Math.floor(timeMs / 1000) * 1000) * 1000), 6);
  const pairs = Object.entries(fields).map(([key, value]) => ` ${key}=${shown(value)}`);
  return `${severity}${date} ${clock}.${micros} ${padded(pid, 7, ' ')} ${source}] ${JSON.stringify(message)}${pairs.join('')}\n`;
};

const colours: Readonly<Record<Line['severity'], string | undefined>> = {I: undefined, W: '\x1b[33m', E: '\x1b[31m'};

/** Returns a line coloured for a terminal: warnings in yellow, errors in red. */
export const coloured = (line: string, severity: Line['severity']): string => {
  const colour = colours[severity];
  return colour ? `${colour}${line.trimEnd()}\x1b[0m\n` : line;
};

const shown = (value: unknown): string => (value === null || value === undefined ? '<nil>' : JSON.stringify(value));

/** Returns an error with its causes on one line. */
export const errorText = (error: unknown): string => {
  const parts: string[] = [];
  const seen = new Set<unknown>();
  for (
    let each: unknown = error;
    each !== undefined && each !== null && !seen.has(each);
    each = each instanceof Error ? each.cause : undefined
  ) {
    seen.add(each);
    const text = each instanceof Error ? each.message || each.name : String(each);
    if (!parts.some(part => part.includes(text))) parts.push(text);
  }
  return parts.join(': ');
};
