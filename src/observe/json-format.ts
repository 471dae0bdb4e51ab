import type {Line} from './text-format.js';

/** `{"ts":1624215726270.3562,"logger":"source","msg":"message","v":0,"key":"value"}`: time in ms; `v` is absent for errors. */
export const jsonLine = ({severity, verbosity, timeMs, source, message, fields: {err, ...fields}}: Line): string =>
  `${JSON.stringify({ts: timeMs, logger: source, msg: message, ...(err === undefined ? {} : {err}), ...(severity === 'E' ? {} : {v: verbosity}), ...fields})}\n`;
