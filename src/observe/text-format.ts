/** The content of a log line, apart from its fields. */
export interface Line {
  readonly severity: 'I' | 'W' | 'E';
  /** The verbosity of the line. */
  readonly verbosity: number;
  readonly timeMs: number;
  readonly pid: number;
  readonly source: string;
  readonly message: string;
}

/**
 * A log format. Fields are formatted one by one, so that those of a component are formatted once for all of its lines.
 */
export interface LineFormat {
  /** Returns the text of a field; its value is given in JSON. */
  field(name: string, json: string): string;
  /** Returns a line with its newline. */
  line(line: Line, fields: string): string;
}

const padded = (value: number, width: number, fill = '0'): string => String(value).padStart(width, fill);

let secondOfDate = NaN;
let date = '';

/** Returns `1120 12:34:56` in local time. The text of the last second is kept, since most lines come in bursts. */
const dateText = (second: number): string => {
  if (second === secondOfDate) return date;
  const time = new Date(second * 1000);
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map(part => padded(part, 2)).join(':');
  secondOfDate = second;
  return (date = `${padded(time.getMonth() + 1, 2)}${padded(time.getDate(), 2)} ${clock}`);
};

/** `I1120 12:34:56.789012   12345 source] "message" key="value"`: klog's header, in local time. */
export const textFormat: LineFormat = {
  field: (name, json) => ` ${name}=${json === 'null' ? '<nil>' : json}`,
  line({severity, timeMs, pid, source, message}, fields) {
    const second = Math.floor(timeMs / 1000);
    const micros = padded(Math.floor((timeMs - second * 1000) * 1000), 6);
    return `${severity}${dateText(second)}.${micros} ${padded(pid, 7, ' ')} ${source}] ${JSON.stringify(message)}${fields}\n`;
  },
};

const colours: Readonly<Record<Line['severity'], string | undefined>> = {I: undefined, W: '\x1b[33m', E: '\x1b[31m'};

/** The text format coloured for a terminal: warnings in yellow, errors in red. */
export const colouredFormat: LineFormat = {
  field: textFormat.field,
  line(line, fields) {
    const text = textFormat.line(line, fields);
    const colour = colours[line.severity];
    return colour ? `${colour}${text.trimEnd()}\x1b[0m\n` : text;
  },
};
